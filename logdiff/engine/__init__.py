"""Rules and signals that are data: their language, their files, and what they hold at run time.

``runtime`` and ``ruleset`` (with ``functions`` and ``values``) are all that a run with a warm
cache imports; the other modules compile and check the YAML files.
"""
