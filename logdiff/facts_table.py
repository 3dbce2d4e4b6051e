"""The names that rules may use: facts of a run, and what a comparison found.

Rules are checked against these tables when they are compiled, so that a misspelt name is an error
of the rule file and not a condition that silently never holds.
"""

from __future__ import annotations

FACTS: dict[str, str] = {
    "backends": "Implementation chosen for attention, moe, gdn, quantisation, all_reduce.",
    "base_image": "The image that the Dockerfile begins with.",
    "chunked_prefill": "Whether long prompts are processed in chunks.",
    "contradictions": "Comments and texts of a patch script that say the opposite of what it does.",
    "deployments": "Files that the patch scripts and the Dockerfile put into the image.",
    "eager_mode": "Whether CUDA graphs are off and kernels are launched one by one.",
    "ended": "Time of the last line.",
    "engine.name": "Name of the inference engine, such as vllm.",
    "engine.version": "Version of the inference engine as it printed it.",
    "engine_dead": "Time and error of the engine's death.",
    "exceptions": "Exceptions, one entry each, deduplicated over workers and re-raises.",
    "flags_unknown": "Options of the command line that the program does not know.",
    "http": "Number of HTTP responses by status.",
    "http_errors": "Number of HTTP responses of 400 and above by status.",
    "kernels": "Operators that a vendor library announced as loaded or used, one entry each.",
    "kernels.fallback": "Operators that fell back to a slower implementation, one entry each.",
    "kv": "The key-value cache: blocks, block size, capacity and required tokens, GiB available.",
    "launch_file": "The launch file: its path, its kind and the service that is meant.",
    "libraries_missing": "Shared libraries that are not found, who asks for them and why.",
    "modules_missing": "Python modules, or names in them, that could not be imported.",
    "multimodal": "What was said about the vision and audio parts of the model.",
    "nan": "Values that are not a number: occurrences, layers, modules, fractions, workers.",
    "oom": "Running out of device memory, one entry for each device.",
    "ops_missing": "Operators that a library lacks.",
    "package_changes": "Packages that patch scripts and the Dockerfile install or take away.",
    "prefix_cache_disabled": "Whether the engine turned prefix caching off.",
    "reached": "Last stage that the run came to.",
    "serving_seconds": "Seconds between the first and the last sign of serving.",
    "signature_mismatches": "Calls that do not fit the function that is called.",
    "source_lines": "Source file and line that printed a message, by message template.",
    "source_paths": "Paths of the source files that the log names.",
    "stage.completed": "Stages that were completed.",
    "stage.entered": "Stages that were entered.",
    "started": "Time of the first line.",
    "symbols_missing": "Symbols of compiled libraries that no library offers.",
    "thread_reduction": "That the engine reduced the number of CPU threads.",
    "throughput": "Tokens a second over time, with minimum, median and maximum.",
    "truncated": "Whether the log ends with neither a clean stop nor a death.",
    "weights.gb": "Size of the loaded weights of a worker, in GiB that the log calls GB.",
    "weights.skipped": "Messages that say that weights were left out.",
    "workers": "Number of workers.",
}
"""Meaning of each fact by its name; names may hold dots."""

FAMILIES: tuple[str, ...] = ("args", "engine_config", "launch_args", "launch_env")
"""Facts that exist for any identifier after the dot, such as ``args.max_model_len``. What is
printed is ``args`` and ``engine_config``; what the launch file gives is ``launch_…``."""

CHANGES: dict[str, str] = {
    "arguments": "Launch arguments that are not the same in both runs, one item each.",
    "environment": "Environment variables that the two launch files do not set alike.",
    "kernels": "Operators that good loaded or used and bad did not, one item each.",
    "launch_invalid": "Arguments of the launch file that cannot go together.",
    "launch_mismatches": "Arguments that the launch file gives otherwise than the log shows them.",
    "new_files": "Source files that print a message in bad and none in good.",
    "replaced": "Scripts that put files over the image's own which the logs speak against.",
    "source_files": "Source files that print the same message from another line, one item each.",
    "stages": "Stages that good came to and bad did not.",
    "swallowed": "Scripts that hide the failure of a deployment, one item each.",
    "vendor_packages": "Packages of the image's own build that a script replaces, one item each.",
    "weights": "What differs in the size of the loaded weights.",
}
"""Meaning of each key of ``changes``, which is what a comparison found."""
