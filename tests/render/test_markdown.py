from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given

from logdiff.model import Difference, Place
from logdiff.render import Options
from logdiff.render.document import build
from logdiff.render.markdown import code, prose, render
from tests.render.synthetic import pair_report, quote, report_saying
from tests.render.test_columns import ANY_TEXT

BEGINNING = """\
## FAIL: The two images do not run the same model code; the fused kernels that good uses at \
start-up are not used in bad, which computes NaN.

- **bad** `pair.log#1`: vllm 0.6.3, 4 workers, log ends during profiling
- **good** `pair.log#2`: vllm 0.6.3, 4 workers, served 78 min, then ran out of memory; 1,503 \
lines pasted twice, counted once

### Do this

1. **patch** stop deploying `model_runner.py` over the image's own file (likely): The image \
brings this file; the submission replaces it with another version.
   ```text
   bad:40: model_runner.py:1119 Starting to load model /model...  (4 of 4 workers)
   good:238: model_runner.py:1074 Starting to load model /model...  (4 of 4 workers)
   ```
2. **patch** stop deploying `qwen3_5.py` over the image's own file (likely)
3. **config** `--max-num-seqs 1 → 2`, `--max-num-batched-tokens unset → 4096`, \
`--enable-chunked-prefill unset → true`, `--max-seq-len-to-capture 8192 → 32768` (likely), \
bad:11, good:210
4. **config** `--gpu-memory-utilization 0.9 → 0.95` (**not advised**): good itself ran out of \
memory with 0.95 while its KV cache was 5 % full.
"""


def test_the_beginning(pair_document: dict[str, Any]) -> None:
    assert render(pair_document, Options()).startswith(BEGINNING)


@pytest.mark.parametrize("name", ["pair_document", "heavy_document", "empty_document"])
def test_a_summary_has_sixty_lines_at_most(name: str, request: pytest.FixtureRequest) -> None:
    text = render(request.getfixturevalue(name), Options())
    assert text.count("\n") <= 60


def test_everything_when_verbose(heavy_document: dict[str, Any]) -> None:
    text = render(heavy_document, Options(verbose=1))
    assert "```diff" in text
    assert "Why rule-39 matters" in text
    assert "| `fact.39` |" in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a|b <img> &amp; [x](y) *z* $1$", r"a\|b \<img\> \&amp; \[x\](y) \*z\* \$1\$"),
        ("@team see #12 and GH-3 and !4", "@\u200bteam see #\u200b12 and GH-\u200b3 and !\u200b4"),
        ("https://evil.example WWW.x.io", "https:\u200b//evil.example WWW\u200b.x.io"),
        ("see HTTPS://a.example/?b", "see HTTPS:\u200b//a.example/?b"),
        (
            "www.a.example ftp://b c@d.example",
            "www\u200b.a.example ftp:\u200b//b c@\u200bd.example",
        ),
        ("max_num_seqs __init__.py `x`", r"max_num_seqs \_\_init\_\_.py \`x\`"),
        ("# no heading", r"\# no heading"),
        ("- no list", r"\- no list"),
        ("1. no list", r"1\. no list"),
        ("a\nb\x1b[1m", r"a b\\x1b\[1m"),
    ],
)
def test_prose_means_itself(text: str, expected: str) -> None:
    assert prose(text) == expected


def test_a_link_in_a_log_is_no_link_in_a_summary() -> None:
    text = "failed: get https://evil.example/x or www.evil.example now"
    document = build(report_saying(text), lambda run, _: Place(run.role, text, 1, 1, (), text))
    for verbose in (0, 1):
        shown = render(document, Options(verbose=verbose))
        assert "evil.example" in shown
        live = re.sub(r"(`+).*?\1", "", shown, flags=re.DOTALL)
        assert not re.search(r"https?://|www\.", live)


def test_code_holds_any_backticks() -> None:
    assert code("a") == "`a`"
    assert code("a`b``") == "``` a`b`` ```"
    assert code("") == "`  `"


def test_cells_hold_pipes_and_mentions() -> None:
    report = pair_report()
    report.differences = [Difference("a|b", "<x>", "@you #1", None, None, [])]
    text = render(build(report, quote), Options())
    assert "| `a\\|b` | `<x>` | `@you #1` |  |\n" in text


def test_fences_are_longer_than_what_they_hold() -> None:
    report = pair_report()
    document = build(report, lambda run, _: Place(run.role, "pair.log", 4, 1, (), "a ```` b"))
    text = render(document, Options())
    assert "   `````text\n   bad:4: a ```` b" in text


@given(ANY_TEXT)
def test_no_text_escapes_from_its_place(text: str) -> None:
    document = build(report_saying(text), lambda run, _: Place(run.role, text, 1, 1, (), text))
    for verbose in (0, 1):
        shown = render(document, Options(verbose=verbose))
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800]", shown)
        rows = [line for line in shown.split("\n") if line.startswith("| ")]
        assert all(len(re.findall(r"(?<!\\)\|", row)) == 5 for row in rows)
        assert shown.count("\n") <= 60 or verbose
