from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from logdiff.model import Difference, Fix, Life, Log, Place, ReadError, Report
from logdiff.render import Options, load, markdown
from logdiff.render._columns import columns
from logdiff.render._outline import excerpt
from logdiff.render._phrases import shell_word, witnesses
from logdiff.render.document import build, build_inspection
from logdiff.render.text import ascii_fallback, render, render_inspect
from tests.render.synthetic import (
    bad_run,
    empty_report,
    finding,
    fix,
    good_run,
    make_run,
    pair_report,
    quote,
    report_saying,
    seen,
)
from tests.render.test_columns import ANY_TEXT

FIRST_SCREEN = """\
FAIL  The two images do not run the same model code; the fused kernels that good
      uses at start-up are not used in bad, which computes NaN.
      pair.log
      bad   #1  vllm 0.6.3, 4 workers, log ends during profiling
      good  #2  vllm 0.6.3, 4 workers, served 78 min, then ran out of memory

Do this
 1  patch   stop deploying model_runner.py over the image's own file      likely
    The image brings this file; the submission replaces it with another version.
    bad:40    model_runner.py:1119 Starting to load model /mode…  4 of 4 workers
    good:238  model_runner.py:1074 Starting to load model /mode…  4 of 4 workers
 2  patch   stop deploying qwen3_5.py over the image's own file           likely
    bad:40 and good:238, quoted above
 3  config  --max-num-seqs 1 → 2, --max-num-batched-tokens unset → 4096,  likely
            --enable-chunked-prefill unset → true,
            --max-seq-len-to-capture 8192 → 32768 (bad:11, good:210)
 4  config  --gpu-memory-utilization 0.9 → 0.95: not advised
    good itself ran out of memory with 0.95 while its KV cache was 5 % full.

What happened
  ● source-drift  model_runner.py is not the same file in the two images
    ├ kernel-not-loaded  4 × good uses … at start-up, bad does not: certain:
    │   fused MoE prefill; likely: fused GDN decode, fused GDN prefill, FA2
    │   packed prefill
    ├ kernel-fallback  MoE falls back to pure PyTorch, 19 times: vendorlib has
    │   no moe_topk_softmax (bad:97)
    └ nan-output  NaN in layers 0, 1, 2, 4: 99.91–100 % of the values of
        GatedDeltaNet (bad:90)
  ● weights-differ  15.2 → 14.1 GB per worker: the vision part is not loaded in
      bad (likely, bad:78)
  ● launch-arguments-differ  six launch arguments are not those of good (likely,
      bad:11)
  ○ baseline-unhealthy  good ran out of memory on 3 of 4 devices after serving
      78 min (good:1480)

Not reached, so not missing
  the bad log ends during profiling: KV cache size, HTTP statuses, throughput,
  FA2 paged decode, FA2 chunked prefill, MoE decode, GDN decode

FAIL  3 root causes, 3 consequences, 4 fixes. First: stop deploying model_runne…
Next:  add -v  all evidence, 2 more findings, 7 differences
       logdiff fix "pair.log#2" "pair.log#1" --launch FILE --patch FILE
         the fixes as one patch
       docker logs -t NAME > bad.log 2>&1  the whole log: this one is cut off
"""

INSPECTION = """\
pair.log, 676 KiB, 2 runs in one file

  #1  lines 1–200, 2026-03-02 10:00:00–10:01:21, serve, docker timestamps
      heading  我们的最开始（只截取了部分，错误太多了）日志：
      vllm 0.6.3, 4 workers, log ends during profiling
      weights 14.1 GB, 19 kernel fallbacks, 16 NaN warnings

  #2  lines 204–3210, 2026-02-11 08:00:00–09:22:10, serve, docker timestamps
      heading  别人的docker日志：
      vllm 0.6.3, 4 workers, served 78 min, then ran out of memory; 1,503 lines
      pasted twice, counted once
      weights 15.2 GB, KV cache for 304,000 tokens, 1 vendor kernel, 2
      out-of-memory errors, HTTP 200 ×147, 400 ×89, 500 ×4

Next:  logdiff compare "pair.log#2" "pair.log#1"  the known-good run comes first
       logdiff diagnose "pair.log#1"  what is wrong with that one alone
"""


def show(report: Report, width: int = 80, verbose: int = 0) -> str:
    return render(build(report, quote), Options(width=width, verbose=verbose))


def test_the_first_screen() -> None:
    assert show(pair_report()) == FIRST_SCREEN


def test_nothing_to_judge(empty_document: dict[str, Any]) -> None:
    assert (
        render(empty_document, Options())
        == """\
UNJUDGED  Nothing in this log could be judged.
          log   empty.log#1  engine not recognised, no start of a server seen

UNJUDGED  this is not a pass
"""
    )


def test_a_log_of_an_unknown_program_can_be_inspected_unless_it_came_from_standard_input() -> None:
    report = empty_report()
    report.bad.section.lines, report.bad.life.truncated = 7, True
    asked = "Next:  logdiff inspect empty.log  what is in the log\n"
    assert show(report).endswith(f"UNJUDGED  this is not a pass\n{asked}")
    report.bad.log.path = "<stdin>"
    assert show(report).endswith("UNJUDGED  this is not a pass\n")


@pytest.mark.parametrize("format_name", ["text", "markdown"])
@pytest.mark.parametrize("verbose", [0, 1])
def test_what_the_verdict_says_of_a_log_that_cannot_be_read_is_said_once(
    format_name: str, verbose: int
) -> None:
    report = empty_report()
    report.bad.life.truncated = True
    report.sentence = "empty.log: is empty"
    report.bad.log.errors = [ReadError("empty.log", None, report.sentence)]
    document = build(report, quote)
    assert document["coverage"]["read_errors"][0]["message"] == "is empty"
    text = load(format_name).render(document, Options(verbose=verbose))
    assert text.count("is empty") == 1
    assert "docker logs" not in text
    report.sentence = "another log: is binary"
    text = load(format_name).render(build(report, quote), Options(verbose=verbose))
    assert len(re.findall(r"empty\.log`?: is empty", text)) == 1


def test_a_pass_says_so_and_little_else() -> None:
    good, bad = good_run(), good_run()
    bad.role = "bad"
    bad.life.facts["reached"] = "serving"
    report = Report(good, bad)
    report.status = "pass"
    report.findings = [finding("eager-mode", None, "info", "certain", "no CUDA graphs", [])]
    text = show(report, 120)
    assert text.startswith("PASS  Nothing was found that makes this run fail.\n")
    assert "served 78 min until the log ends" in text
    assert "Seen" not in text
    assert text.endswith(
        "PASS  nothing above info; 1 at info level: -v\nNext:  add -v  all evidence, 1 finding\n"
    )
    assert show(report, verbose=1).endswith("PASS  nothing above info; 1 at info level\n")


def test_a_pass_has_findings_and_no_root_causes() -> None:
    report = Report(good_run(), bad_run())
    report.status = "pass"
    assert show(report).partition("\nPASS  ")[2].startswith("no findings\n")
    cause = finding("slow", None, "medium", "certain", "it is slow", [])
    effect = finding("slower", None, "medium", "certain", "it is slower", [], (cause,))
    report.findings = [cause, effect]
    assert "\nPASS  2 findings\n" in show(report)
    report.fixes = [fix("config", "--seed", "set", 1, 2)]
    cause.fixes = [report.fixes[0].id]
    assert "\nPASS  2 findings, 1 fix. First: --seed 1 → 2\n" in show(report)
    report.findings += [
        finding("ill", None, "medium", "certain", "good died", [], run="good"),
        finding("quiet", None, "info", "certain", "as ever", []),
    ]
    told = "2 findings, 1 about good, 1 fix. First: --seed 1 → 2"
    assert f"\nPASS  {told}\n" in show(report)
    report.findings = [report.findings[2]]
    report.fixes = []
    assert "\nPASS  no findings, 1 about good\n" in show(report)
    for verbose in (0, 1):
        assert "root cause" not in show(report, verbose=verbose)


def test_a_change_that_no_value_says_is_told_with_its_reason() -> None:
    report = Report(None, bad_run())
    report.status = "fail"
    report.fixes = [fix("code", "q.py", "set", reason="clamp before exp()")]
    text = show(report)
    assert " 1  code  change q.py " in text
    assert "possible\n    clamp before exp()\n" in text
    assert "1 fix. First: change q.py: clamp before exp()\n" in text
    shown = markdown.render(build(report, quote), Options())
    assert "1. **code** change `q.py` (possible): clamp before exp()\n" in shown
    # Not even where good has no value either.
    report.fixes = [fix("config", "--seed", "set", reason="so")]
    report.differences = [Difference("args.seed", None, 1, None, None, [])]
    assert "change --seed " in show(report)
    assert "    so\n" in show(report)


@pytest.mark.parametrize(
    ("confidence", "one", "several"),
    [
        ("possible", "run the same a.py as good", "run the same a.py, b.py, c.py, d.py as good"),
        (
            "likely",
            "stop deploying a.py over the image's own file",
            "stop deploying a.py, b.py, c.py, d.py over the image's own files",
        ),
    ],
)
def test_which_file_is_the_images_own_is_said_only_where_it_is_likely(
    confidence: str, one: str, several: str
) -> None:
    report = Report(make_run("good"), make_run("bad"))
    names = [f"{name}.py" for name in "abcd"]
    report.fixes = [fix("patch", x, "stop-deploying", confidence=confidence) for x in names]
    assert f" 1  patch  {several}" in show(report, 120)
    report.fixes = report.fixes[:1]
    assert f" 1  patch  {one} " in show(report, 120)


def test_what_the_engine_made_of_an_argument_proves_no_fix() -> None:
    good, bad = good_run(), bad_run()
    report = Report(good, bad)
    report.fixes = [fix("config", "--seed", "remove", old=True, reason="it cannot be done")]
    report.findings = [finding("r", "seed", "medium", "certain", "off", [(bad, seen(90))])]
    report.findings[0].fixes = [report.fixes[0].id]
    elsewhere = [(bad, seen(78)), (good, seen(270))]
    report.differences = [Difference("engine_config.seed", None, 1, None, None, elsewhere)]
    assert "    it cannot be done\n    bad:90  " in show(report)
    # Neither does the difference of an argument that the fix does not do away with.
    report.differences = [Difference("args.seed", 5, 1, None, None, elsewhere)]
    assert "    it cannot be done\n    bad:90  " in show(report)
    report.differences = [Difference("args.seed", None, 1, None, None, elsewhere)]
    assert "remove --seed (bad:78, good:270) " in show(report)


def test_of_several_starts_it_is_said_which_is_judged() -> None:
    run = bad_run()
    lives = [run.life, Life(2, 3, 4)]
    run.section.lives[:] = lives
    report = Report(None, run)
    text = " ".join(show(report, 120).split())
    assert "4 workers, started again during profiling; started 2 times, this is start 1" in text
    assert "cut off" not in text
    assert build(report, quote)["bad"]["logs"][0]["life"] == 1
    run.life = lives[1]
    assert "started 2 times, this is start 2" in " ".join(show(report).split())
    run.life.facts = {"reached": "serving", "serving_seconds": 40}
    assert "served 40 s until the log ends" in show(report, 120)
    lives.append(Life(3, 5, 6))
    run.section.lives[:] = lives
    assert "served 40 s until it is started again" in show(report, 120)


def test_findings_about_another_start_say_so() -> None:
    run = bad_run()
    run.section.lives.append(Life(2, 3, 4))
    report = Report(None, run)
    title = "the engine died of an error that takes many words to tell at {}"
    report.findings = [
        finding("dead", "engine", "critical", "certain", title.format(time), [(run, seen(90))])
        for time in ("10:00", "11:00")
    ]
    report.findings[1].life = 2
    assert "takes many words to tell at: start 1, start 2\n" in show(report, 120)
    report.findings.pop(0)
    assert "at 11:00 (start 2, log:90)\n" in show(report, 120)


def test_more_witnesses_than_workers_are_processes() -> None:
    run = good_run()
    document = build(Report(None, run), quote)
    document["bad"] = document["bad"] or document["good"]

    def said(total: int | None, *names: str) -> str:
        document["bad"]["facts"]["workers"] = total
        return witnesses(document, {"run": "bad", "workers": names, "count": 0})

    assert said(1, "EngineCore", "Worker") == "2 processes"
    assert said(2, "APIServer", "EngineCore") == "2 processes"
    assert said(4, "EngineCore", "Worker_TP0") == "2 processes"
    assert said(2, "EngineCore_DP0", "EngineCore_DP1") == "2 of 2 workers"
    assert said(4, "driver", "pid=7") == "2 of 4 workers"
    assert said(None, "driver", "pid=7") == "2 workers"


def test_quotes_of_everything_keep_what_one_may_search_for() -> None:
    report = Report(None, bad_run())
    line = "torch.cuda.OutOfMemoryError: CUDA out of memory. " + "It is so. " * 40
    report.findings = [finding("oom", None, "high", "certain", "oom", [(report.bad, seen(1))])]
    report.fixes = [fix("env", "A", "set", None, "1")]
    report.findings[0].fixes = [report.fixes[0].id]
    document = build(report, lambda run, _: Place(run.role, "pair.log", 1, 1, (), line))
    for shown in (render, markdown.render):
        assert "torch.cuda.OutOf" not in shown(document, Options())
        everything = shown(document, Options(verbose=1))
        assert everything.count("torch.cuda.OutOfMemoryError") == everything.count("OutOfMemory")


def test_rules_that_could_not_be_judged_are_told_to_who_asks_for_everything() -> None:
    document = build(pair_report(), quote)
    for shown, mark in ((render, "  "), (markdown.render, "- ")):
        text = shown(document, Options())
        assert "kv-too-small" not in text
        assert "bad has no fact kv" not in text
        assert "the bad log ends during profiling" in text
        assert f"\n{mark}kv-too-small: bad has no fact kv\n" in shown(document, Options(verbose=1))


def test_a_death_is_told_with_two_full_lines_of_its_error() -> None:
    report = Report(None, make_run("bad"))
    cause = finding("oom", None, "critical", "certain", "no memory", [])
    effect = finding("dead", None, "critical", "certain", "the engine died: " + "error " * 60, [])
    effect.caused_by, cause.consequences = [cause.id], [effect.id]
    report.findings = [cause, effect]
    for root in (False, True):
        effect.caused_by = [] if root else [cause.id]
        told = show(report).partition("dead  the engine died:")[2].split("\n")
        assert min(len(told[1]), len(told[2])) > 70
        assert told[2].endswith("…")
        assert not told[3].strip()


def test_a_run_that_is_judged_alone_is_not_called_bad() -> None:
    bad = bad_run()
    report = Report(None, bad)
    report.status = "fail"
    report.findings = [
        finding("nan-output", None, "high", "certain", "NaN in 4 layers", [(bad, seen(90, 16))])
    ]
    text = show(report)
    assert "log   pair.log#1  vllm" in text
    assert "NaN in 4 layers (log:90)" in text


def test_everything_when_verbose() -> None:
    text = show(pair_report(), verbose=1)
    assert "Why eager-mode matters" in text
    assert (
        """\
    bad:95    ERROR 03-02 10:01:10 _custom_ops.py:58] Error in calling custom op
              topk_softmax: module 'vendorlib.functions' has no attribute
              'moe_topk_softmax' (×20, 4 of 4 workers)
    caused by source-drift:model_runner.py
"""
        in text
    )
    assert (
        """\
  fact                         good    bad
  args.enable_chunked_prefill  true    unset
  args.gpu_memory_utilization  0.95    0.9 (-0.05)
"""
        in text
    )
    assert "  weights.gb                   15.2    14.1 (-1.1 GB (GiB))\n" in text
    assert "352 not understood, 1,503 pasted twice" in text
    assert "patch-overrides-image: needs the patch script: --patch FILE" in text
    assert "add -v" not in text


def test_long_reports_are_cut_on_the_first_screen(heavy_document: dict[str, Any]) -> None:
    text = render(heavy_document, Options())
    assert "    38 more fixes: -v\n" in text
    assert "  35 more: -v shows them\n" in text
    everything = render(heavy_document, Options(verbose=1))
    assert "VARIABLE_39 a → b" in everything
    assert "+b" in everything
    assert "rule-39" in everything


def test_findings_of_one_rule_are_folded_by_confidence() -> None:
    report = Report(make_run("good"), make_run("bad"))
    title = "the kernel called {} is not used by the run that is judged"
    report.findings = [
        finding("kernel-not-loaded", name, "high", sure, title.format(name), [])
        for name, sure in (("A", "certain"), ("B", "certain"), ("C", "possible"))
    ]
    shared = "the kernel called … is not used by the run that is judged"
    assert f"3 × {shared}: certain: A, B; possible: C\n" in show(report, 120)
    report.findings.pop()
    assert f"2 × {shared}: A, B\n" in show(report, 120)
    for item in report.findings:
        item.confidence, item.title = "likely", f"{item.subject}!"
    assert "kernel-not-loaded  A!, B! (likely)\n" in show(report)


def test_names_are_told_without_their_source_line_where_they_are_clear() -> None:
    report = Report(make_run("good"), make_run("bad"))
    report.findings = [
        finding("kernel-not-loaded", f"{name} (k.py:{line})", "high", "likely", "t " * 30, [])
        for line, name in enumerate(("prefill", "decode"), 1)
    ]
    report.not_reached = [
        {"fact": "kernels", "what": name, "why": f"bad ends before serving, {why}"}
        for name, why in (("decode (k.py:9)", "in which good prints it"), ("paged (k.py:7)", ""))
    ]
    shown = show(report)
    assert "prefill, decode (k.py:2)\n" in shown
    assert (
        "Not reached, so not missing\n  bad ends before serving: decode (k.py:9), paged\n" in shown
    )


def test_what_is_to_be_done_is_not_told_again() -> None:
    report = Report(make_run("good"), make_run("bad"))
    report.findings = [
        finding("launch-arg-changed", name, "medium", "certain", f"--{name} {arrow}", [])
        for name, arrow in (("seed", "1 → 2"), ("swap", "8 → 4 (no effect)"))
    ]
    report.fixes = [fix("config", "--seed", "set", 1, 2, confidence="likely")]
    report.findings[0].fixes = [report.fixes[0].id]
    told = "launch-arg-changed  see 1 above; also --swap 8 → 4 (no effect)\n"
    assert told in show(report)
    assert told not in show(report, verbose=1)
    assert "--seed 1 → 2" in show(report, verbose=1)
    report.findings.pop()
    assert "launch-arg-changed  see 1 above\n" in show(report)


def test_a_line_is_quoted_once_on_the_first_screen() -> None:
    report = Report(None, bad_run())
    report.fixes = [fix("env", name, "set", None, "1", reason="so") for name in ("A", "B")]
    report.findings = [
        finding("r", None, "high", "certain", "NaN", [(report.bad, seen(90))]),
    ]
    report.findings[0].fixes = [change.id for change in report.fixes]
    text = show(report)
    assert text.count("log:90  qwen3_5.py:445 NaN in prefill") == 1
    assert "    so\n    log:90, quoted above\n" in text
    assert "● r  NaN\n" in text
    assert "● r  NaN (log:90)\n" in show(report, verbose=1)


def test_a_consequence_is_cut_to_two_lines_and_keeps_how_sure_it_is() -> None:
    report = Report(None, make_run("bad"))
    cause = finding("cause", None, "high", "certain", "first", [])
    effect = finding("effect", None, "high", "likely", "word " * 60 + "end", [], (cause,))
    report.findings = [cause, effect]
    lines = show(report, 60).split("\n")
    start = lines.index("  ● cause  first")
    assert lines[start + 1].startswith("    └ effect  word")
    assert lines[start + 2].endswith("… (likely)")
    assert lines[start + 3] == ""
    assert "word end (likely)" in show(report, 60, verbose=1).replace("\n        ", " ")


@pytest.mark.parametrize(
    ("line", "width", "shown"),
    [
        (
            "x.py:1 torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 32.00 MiB. \
GPU 0 has a total capacity of 31.72 GiB of which 50.92 MiB is free. Of the rest",
            110,
            "x.py:1 OutOfMemoryError: CUDA out of memory. Tried to allocate 32.00 MiB. \
GPU 0 has a total …50.92 MiB is free",
        ),
        ("a.b.SomeError: it is wrong", 20, "SomeError: it is wr…"),
        ("no figures in these many words", 12, "no figures…"),
        ("Namespace(seed=1, host=None, max_num_seqs=2)", 30, "…max_num_seqs=2 …"),
        ("{'max_num_seqs': 192, 'model': 'x y'}", 30, "…'max_num_seqs': 192 …"),
    ],
)
def test_excerpts_keep_what_matters(line: str, width: int, shown: str) -> None:
    assert excerpt(line, width, ["max_num_seqs"]) == shown


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("a/b-1.log", "a/b-1.log"),
        ("-x.log", "./-x.log"),
        ("-", "-"),
        ("two words.log#2", '"two words.log#2"'),
        ("it's $1.log", r"'it'\''s $1.log'"),
        ("日志.log", '"日志.log"'),
        ("a\x1b'b\udcff", r"$'a\x1b\'b\xff'"),
    ],
)
def test_paths_are_quoted_for_a_shell(name: str, word: str) -> None:
    assert shell_word(name) == word


def test_a_long_command_can_be_copied() -> None:
    run = make_run("bad", f"{'long name ' * 6}.log")
    run.section.kind = "serve"
    run.log.sections.append(make_run("bad", section_number=2).section)
    run.log.sections[1].kind = "serve"
    text = render_inspect(build_inspection([(run.log, 1)]), Options())
    command = text.partition("Next:  ")[2].partition("the known-good")[0]
    names = [f"{'long name ' * 6}.log#{number}" for number in (1, 2)]
    assert "\\\n" in command
    assert shlex.split(command.replace("\\\n", "")) == ["logdiff", "compare", *names]


def test_a_cause_at_info_level_is_shown_with_its_consequence_and_suppressed_ones_are_not() -> None:
    report = Report(None, make_run("bad"))
    cause = finding("cause", None, "info", "certain", "a small thing", [])
    effect = finding("effect", None, "critical", "certain", "a big thing", [], (cause,))
    hidden = finding("hidden", None, "critical", "certain", "accepted", [])
    hidden.suppressed = True
    report.findings = [cause, effect, hidden]
    text = show(report)
    assert "  ● cause  a small thing\n    └ effect  a big thing\n" in text
    assert "accepted" not in text
    assert "suppressed" in show(report, verbose=1)


def test_a_circle_of_causes_does_not_hang() -> None:
    report = Report(None, make_run("bad"))
    one = finding("one", None, "high", "certain", "first", [])
    two = finding("two", None, "high", "certain", "second", [], (one,))
    one.caused_by = [two.id]
    report.findings = [one, two]
    text = show(report)
    assert "first" in text
    assert "second" in text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (fix("env", "VLLM_USE_V1", "set", None, "0"), "VLLM_USE_V1 unset → 0"),
        (
            fix("config", "--enforce-eager", "add", None, new=True),
            "add --enforce-eager (unset → on)",
        ),
        (fix("config", "--seed", "add", None, 7), "add --seed 7"),
        (fix("config", "--seed", "remove", 7), "remove --seed 7"),
        (fix("package", "torch-npu", "add", None, "2.1"), "install torch-npu 2.1"),
        (fix("package", "torch-npu", "restore", "2.2", "2.1"), "restore torch-npu 2.2 → 2.1"),
        (fix("infrastructure", "--shm-size", "set", "64m", "16g"), "--shm-size 64m → 16g"),
        (
            fix("package", "vllm", "set", None, "build for CUDA 12.8"),
            "use vllm build for CUDA 12.8",
        ),
        (fix("code", "a.py", "restore", file="app/a.py", line=7), "restore a.py in app/a.py:7"),
    ],
)
def test_fixes_in_words(change: Fix, words: str) -> None:
    report = Report(None, make_run("bad"))
    report.fixes = [change]
    assert re.search(rf" 1  {change.kind}  {re.escape(words)}  +possible\n", show(report))


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"reached": "build"}, "log ends during the build"),
        ({"reached": "weights", "stage.completed": ["weights"]}, "after loading the weights"),
        ({"reached": "dead", "stage.entered": ["load", "weights"]}, "died while loading the wei"),
        ({"reached": "dead"}, "engine not recognised, died"),
        ({"reached": "dead", "stage.entered": ["kv"], "oom": [{}]}, "ran out of memory while si"),
        (
            {"reached": "stopped", "stage.entered": ["serving"], "serving_seconds": 20_000},
            "served 5 h 33 min, then stopped",
        ),
        ({"reached": "serving", "serving_seconds": 40}, "served 40 s until the log ends"),
    ],
)
def test_how_far_a_run_got(facts: dict[str, Any], words: str) -> None:
    report = Report(None, make_run("bad"))
    report.bad.life.facts = facts
    assert words in show(report, 120)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (
            "2026-03-02T10:00:29.8Z (Worker_TP2 pid=9) INFO 03-02 10:00:29 [core.py:58] ready",
            "core.py:58 ready",
        ),
        ("vllm-1  | INFO 03-02 10:00:29 loader.py:7] done", "loader.py:7 done"),
        ("2026-03-02T10:00:29+08:00 stderr F Killed", "Killed"),
        ("2026-03-02T10:00:29Z ", "2026-03-02T10:00:29Z"),
        ("plain words", "plain words"),
    ],
)
def test_lines_are_quoted_without_what_was_put_before_them(line: str, shown: str) -> None:
    bad = make_run("bad")
    report = Report(None, bad)
    change = fix("code", "a.py", "restore")
    report.fixes = [change]
    report.findings = [finding("r", None, "high", "certain", "t", [(bad, seen(4, 1, ()))])]
    report.findings[0].fixes = [change.id]
    document = build(report, lambda run, _: Place(run.role, "pair.log", 4, 1, (), line))
    assert f"    log:4  {shown}\n" in render(document, Options())


@example("\x1b[31m\u202e日志\u0301👩\u200d💻\ud800\n\t")
@example("字" * 200)
@example("")
@given(ANY_TEXT)
def test_no_line_is_wider_than_the_terminal_and_nothing_is_obeyed(text: str) -> None:
    document = build(
        report_saying(text), lambda run, _: Place(run.role, text, 1, 1, ("a", "b"), text)
    )
    inspection = build_inspection([(report_saying(text).bad.log, 7)])
    for width in (40, 57, 80, 120):
        for verbose in (0, 1):
            options = Options(width=width, verbose=verbose)
            for shown in (render(document, options), render_inspect(inspection, options)):
                assert max(map(columns, shown.split("\n"))) <= width
                assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800]", shown)


@given(st.integers(min_value=-5, max_value=500))
def test_the_width_is_kept_within_reason(width: int) -> None:
    lines = show(pair_report(), width).split("\n")
    assert max(map(columns, lines)) <= max(40, min(width, 120))


def test_colour_changes_nothing_but_colour(pair_document: dict[str, Any]) -> None:
    for verbose in (0, 1):
        plain = render(pair_document, Options(verbose=verbose))
        colored = render(pair_document, Options(color=True, verbose=verbose))
        assert "\x1b" not in plain
        assert colored != plain
        assert re.sub(r"\x1b\[[\d;]*m", "", colored) == plain


def test_an_inspection(inspection: dict[str, Any]) -> None:
    assert render_inspect(inspection, Options()) == INSPECTION


def test_an_inspection_shows_what_computes_in_each_run() -> None:
    good, bad = good_run(), bad_run()
    good.log.path, bad.log.path = (
        "good.log",
        "a-folder-with-a-long-name/container-of-the-bad-run.log",
    )
    good.life.facts["backends"] = {
        "attention": "FLASH_ATTN",
        "moe": "grouped tiles, and more of " * 2,
    }
    bad.life.facts["backends"] = {"attention": "XFORMERS"}
    inspection = build_inspection([(good.log, 1), (bad.log, 1)])
    shown = render_inspect(inspection, Options(width=80)).partition("\nBackends")[2]
    assert shown.partition("\n\n")[0].split("\n") == [
        "        good.log                        container-of-the-bad-run.log",
        "  attention     FLASH_ATTN                      XFORMERS",
        "  experts       grouped tiles, and more of      –",
        "                grouped tiles, and more of",
    ]
    assert inspection["backends"] == [
        {"run": "good.log", "attention": "FLASH_ATTN", "moe": "grouped tiles, and more of " * 2,
         "gdn": None, "quantisation": None, "all_reduce": None},
        {"run": bad.log.path, "attention": "XFORMERS",
         "moe": None, "gdn": None, "quantisation": None, "all_reduce": None},
    ]  # fmt: skip
    narrow = render_inspect(inspection, Options(width=40))
    assert "  …d-run.log\n" in narrow
    assert "XFORMERS" in markdown.render_inspect(inspection, Options())


def test_of_many_runs_three_stand_side_by_side() -> None:
    logs = []
    for number in range(4):
        run = good_run()
        run.log.path = f"run-{number}.log"
        run.life.facts["backends"] = {"attention": f"backend-{number}"}
        logs.append((run.log, 1))
    text = render_inspect(build_inspection(logs), Options(width=80))
    assert text.count("Backends ") == 2
    assert re.search("backend-0 +backend-1 +backend-2\n", text)
    assert re.search("\n  attention     backend-3\n", text)


def test_an_inspection_of_one_run_with_several_starts() -> None:
    run = good_run()
    run.section.lives.append(run.life)
    text = render_inspect(build_inspection([(run.log, None)]), Options(width=120, verbose=1))
    assert "start 1" in text
    assert "kv                capacity" not in text
    assert "started 2 times" in text
    assert text.endswith("Next:  logdiff diagnose pair.log  what is wrong with it\n")


def test_an_inspection_proposes_to_compare_what_can_be_compared() -> None:
    good, bad = good_run().log, bad_run().log
    good.path, bad.path = "good.log", "bad.log"
    other = make_run("bad", "other.log").log

    def proposed(*logs: Log) -> str:
        text = render_inspect(build_inspection([(log, 1) for log in logs]), Options(width=120))
        return text.partition("Next:  ")[2]

    comparison = "logdiff compare good.log bad.log  the known-good run comes first\n"
    assert proposed(bad, other, good).startswith(comparison)
    assert proposed(bad, other) == "logdiff diagnose bad.log  what is wrong with it\n"
    assert proposed(other) == "logdiff diagnose other.log  what is wrong with it\n"
    assert proposed(other, make_run("bad", "third.log").log) == ""
    good.path = "<stdin>"
    assert proposed(bad, good) == "logdiff diagnose bad.log  what is wrong with it\n"
    assert proposed(good) == ""


def test_an_inspection_of_a_log_that_cannot_be_read_says_why_once() -> None:
    log = Log("empty.log", "empty.log")
    log.errors = [ReadError("empty.log", None, "empty.log: is empty")]
    assert render_inspect(build_inspection([(log, None)]), Options()) == "empty.log\n  is empty\n"


def test_signs_that_a_stream_cannot_encode_have_ascii_equivalents() -> None:
    plain = ascii_fallback(show(pair_report()))
    plain.encode("ascii")
    assert "  * source-drift" in plain
    assert "--max-num-seqs 1 -> 2" in plain
