"""The files that made a run: launch files, patch scripts and Dockerfiles, read with positions."""
