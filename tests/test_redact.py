"""Secrets are replaced, and nothing else is."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logdiff.redact import fingerprint, is_secret_name, redact

if TYPE_CHECKING:
    from pathlib import Path

KEY = "Xq7-secretvalue_99"

REPLACED = [
    # pairs
    ("api_key=Xq7", "api_key=***"),
    ("Namespace(api_key='Xq7', port=8000)", "Namespace(api_key='***', port=8000)"),
    ("Namespace(api_key=['Xq7', \"Yq8\"], port=1)", "Namespace(api_key=['***', \"***\"], port=1)"),
    ("api_key=('Xq7',)", "api_key=('***',)"),
    ("api_key=[Xq7, Yq8] x", "api_key=[***] x"),
    ("{'model': 'm', 'api_key': 'Xq7'}", "{'model': 'm', 'api_key': '***'}"),
    ('{"token": "Xq7", "stream": true}', '{"token": "***", "stream": true}'),
    (r"{\"api_key\": \"Xq7\", \"n\": 1}", r"{\"api_key\": \"***\", \"n\": 1}"),
    ("password='it\\'s, x=1', y=2", "password='***', y=2"),
    ("api_key=SecretStr('Xq7'), y=2", "api_key=SecretStr('***'), y=2"),
    ("secret=b'Xq7'", "secret=b'***'"),
    ("api_key: str = 'Xq7'", "api_key: str = '***'"),
    ("password: hunter2", "password: ***"),
    ("passwd = hunter2", "passwd = ***"),
    ("DB_PASSWORD=a,b;c&d PATH=/bin", "DB_PASSWORD=*** PATH=/bin"),
    ("PASSWORD=$ecret", "PASSWORD=***"),
    ("export HF_TOKEN=Xq7Yq8", "export HF_TOKEN=***"),
    ("AWS_SECRET_ACCESS_KEY=wJalr/XUtn+FEMI", "AWS_SECRET_ACCESS_KEY=***"),
    ("access_key: Xq7", "access_key: ***"),
    ("accessToken: Xq7, clientSecret: 'a b'", "accessToken: ***, clientSecret: '***'"),
    ("GET /v1/models?api_key=Xq7&n=1 HTTP/1.1", "GET /v1/models?api_key=***&n=1 HTTP/1.1"),
    ("api-key: Xq7", "api-key: ***"),
    ("apikey=Xq7)", "apikey=***)"),
    ("password=1234", "password=***"),
    ("ENV API_KEY Xq7", "ENV API_KEY ***"),
    ("- name: HF_TOKEN\n  value: Xq7", "- name: HF_TOKEN\n  value: ***"),
    ('{"name": "HF_TOKEN", "value": "Xq7"}', '{"name": "HF_TOKEN", "value": "***"}'),
    # other words for the same thing
    ("secrets=['Xq7'], n=1", "secrets=['***'], n=1"),
    ("AccountKey=Xq7==;EndpointSuffix=a", "AccountKey=***;EndpointSuffix=a"),
    ("signing_key: Xq7", "signing_key: ***"),
    ("DB_PWD=Xq7 db-pwd: Xq7 pwd=Xq7", "DB_PWD=*** db-pwd: *** pwd=***"),
    ("passcode: Xq7", "passcode: ***"),
    ("//registry.example/:_auth=Xq7", "//registry.example/:_auth=***"),
    ('{"auths": {"h": {"auth": "dXNlcjpw"}}}', '{"auths": {"h": {"auth": "***"}}}'),
    ("credentials='Xq7' --credential=Xq7", "credentials='***' --credential=***"),
    ("密码：Xq7，下一个", "密码：***"),
    ("密钥: Xq7 x", "密钥: *** x"),
    # a request's
    ("Cookie: a=Xq7; sid=Yq8", "Cookie: ***"),
    ("'Set-Cookie': 'sid=Xq7; Path=/', 'n': 1", "'Set-Cookie': '***', 'n': 1"),
    ("(b'cookie', b'sid=Xq7'), 1", "(b'cookie', b'***'), 1"),
    ("cookies={'sid': 'Xq7'}", "cookies={'sid': '***'}"),
    (
        "https://a.example/m?X-Amz-Credential=AKID12345%2F20&X-Amz-Signature=0123456789&n=1",
        "https://a.example/m?X-Amz-Credential=***&X-Amz-Signature=***&n=1",
    ),
    ("https://a.example/send?key=0f1e2d3c-aaaa", "https://a.example/send?key=***"),
    ("https://a.example/bot/v2/hook/0f1e-2d3c", "https://a.example/bot/v2/hook/***"),
    ("https://hooks.slack.com/services/T0/B0/xyz", "https://hooks.slack.com/services/***"),
    # structures
    ("secret={'user': 'Xq7', 'n': 1} x", "secret={'user': '***', 'n': 1} x"),
    # a log that was cut off
    ("Namespace(api_key='Xq7 and mo", "Namespace(api_key='***"),
    ("api_key=['Xq7', 'Yq", "api_key=['***', '***"),
    # arguments
    ("vllm serve --api-key Xq7 --port 80", "vllm serve --api-key *** --port 80"),
    ("vllm serve --api-key=Xq7 --port 80", "vllm serve --api-key=*** --port 80"),
    ("--api-key 'X q7' --port 80", "--api-key '***' --port 80"),
    ("--api-key Xq7 secondkey2 --port 80", "--api-key *** *** --port 80"),
    ("['--api-key', 'Xq7', '--port', '80']", "['--api-key', '***', '--port', '80']"),
    ('["--hf-token","Xq7","--port"]', '["--hf-token","***","--port"]'),
    ("- --api-key\n- Xq7\n- --port", "- --api-key\n- ***\n- --port"),
    # headers
    ("Authorization: Bearer Xq7Yq8", "Authorization: Bearer ***"),
    ("authorization: Basic dXNlcjpw", "authorization: Basic ***"),
    ("'Authorization': 'Bearer token-abc123'", "'Authorization': 'Bearer ***'"),
    ('-H "Authorization: Bearer Xq7" http://h', '-H "Authorization: Bearer ***" http://h'),
    ("(b'authorization', b'Bearer Xq7')", "(b'authorization', b'Bearer ***')"),
    ("(b'x-api-key', b'Xq7')", "(b'x-api-key', b'***')"),
    ("sent Bearer token-abc123 to it", "sent Bearer *** to it"),
    # shapes
    ("got sk-abc123def456ghi", "got ***"),
    ("got hf_abcdefghijklmnopqrstuvwxyz01", "got ***"),
    ("got ghp_0123456789abcdefABCD, gho_0123456789abcdefABCD", "got ***, ***"),
    ("got github_pat_11ABCDEFG0123456789_x", "got ***"),
    ("id AKIAIOSFODNN7EXAMPLE", "id ***"),
    ("xoxb-1234-5678-abcdef xoxp-1234-5678-abcdef", "*** ***"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dBjftJeZ4CVP", "***"),
    ("AIzaSyA0123456789abcdefghijklmnopqrstu", "***"),
    # places
    ("https://user:p@ss@host:1/x", "https://***:***@host:1/x"),
    ("redis://:hunter2@host", "redis://***:***@host"),
    ("https://abcdefghijklmnop1234@host/x", "https://***@host/x"),
    (
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----\nnext",
        "-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----\nnext",
    ),
    ("-----BEGIN PRIVATE KEY-----\nMIIE", "-----BEGIN PRIVATE KEY-----***"),
    # a harmless name does not hide what its value holds
    ("eos_token=api_key=Xq7", "eos_token=api_key=***"),
    ("password: {'token': 'Xq7'}", "password: {'token': '***'}"),
]

KEPT = [
    "",
    "max_tokens=100, tokenizer='/model', tokenizer_mode='auto', num_batched_tokens=4096",
    "return_tokens_as_token_ids=False, max_prompt_adapter_token=0, token_ids=[1, 2]",
    "Avg prompt throughput: 12.3 tokens/s, prompt tokens: 12",
    "Maximum concurrency for 256000 tokens per request: 1.5x",
    "#new-token: 4096, #cached-token: 0, token usage: 0.42",
    "eos_token='<|im_end|>', pad_token=[PAD], bos_token: <s>, image_token='<image>'",
    "token: 151643, next token id 5, token=[1, 2, 151643], time per token: 12.53 ms",
    "detokenize: now",
    "Namespace(api_key=None, hf_token=True, token=False, password='', secret=12)",
    '{"api_key": null, "token": true}',
    "api_key=",
    "api_key=***, 'judge_api_key': '***', token=***01ab23cd",
    "--api-key --port 80",
    "--api-key is required",
    "['--api-key', '--port']",
    "HF_TOKEN=$HF_TOKEN API_KEY=${API_KEY:-} PASSWORD={password}",
    "def load(self, token: Optional[str] = None, api_key: str, password: str | None = None)",
    "if token == eos: return secret::new(token)",
    "Bearer token required; WWW-Authenticate: Bearer realm=x",
    "hf_overrides=None, hf_transfer, from hf_hub_download, sk-learn, task-force, AKIA",
    "http://127.0.0.1:8000/v1 ssh://git@github.com/a https://host/a:b@c",
    "ssl_keyfile=None, key=value, keys: 5, monkey=1",
    "a keyword 'api_key' in a list, 'token', 'word'",
    "PWD=/workspace OLDPWD=/ pwd=/workspace /etc/passwd: not found",
    "auth: failed, author=me, credentials: not found, allow_credentials=False, cookies: off",
    "GET /v1/models?key=1&sort=id, hooks: 3, cookie: no",
    "密钥：未设置 最大令牌: 4096",
    "password={password} secret: {}",
    "<function f at 0x7f00>, token=<function f at 0x7f00>",
]

LEAKS = [
    "api_key={}",
    "api_key: {}",
    "api_key='{}'",
    '"api_key": "{}"',
    "api-key = {}",
    "Namespace(x=1, api_key=['{}'], y=2)",
    "--api-key {}",
    "--api-key={}",
    "--hf-token '{}'",
    "OPENAI_API_KEY={}",
    "Authorization: Bearer {}",
    "headers={{'authorization': 'Bearer {}'}}",
    "postgres://user:{}@db:5432/x",
    "password={}",
    "client_secret={}",
]

HOSTILE = [
    "api_key=", "a:", "://", "://a:b@", "token ", "token (", "eos_token=(", "--token [", "token='",
    'token="', 'token=\\"', 'token\\"', "--api-key ", "--api-key a1234567 ", "Bearer ", "sk-",
    "hf_", "eyJ", "eyJabcdefgh", "-----BEGIN PRIVATE KEY-----", "secret: <", "password={",
    "password=a,b", "password=a;", "('authorization',", "ENV ", "password=f(", "token=bearer ",
    "cookie: a=", "cookie=", "?key=", "?sig=a&", "/bot/v2/hook/", "密码：", "secret={'", "pwd",
    "api_key\n", "x", "api_key value", "\\", '"', " ", "\t-", "github_pat_",
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), REPLACED)
def test_replaces_secrets_and_nothing_else(text: str, expected: str) -> None:
    assert redact(text) == expected


@pytest.mark.parametrize("text", KEPT)
def test_keeps_what_is_no_secret(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize("redacted", [expected for _, expected in REPLACED])
def test_redacting_twice_changes_nothing(redacted: str) -> None:
    assert redact(redacted) == redacted


@pytest.mark.parametrize("template", LEAKS)
@given(secret=st.from_regex(r"[A-Za-z][A-Za-z0-9_~+-]{7,40}[0-9][A-Za-z]", fullmatch=True))
def test_a_secret_never_gets_through(template: str, secret: str) -> None:
    assert secret not in redact(template.format(secret))


@given(st.text())
def test_text_without_a_hint_stays(text: str) -> None:
    hints = r"key|token|secret|passw|passphrase|bearer|://|-----|[-_]|[aA]|pwd|密|口令|cookie|[?]"
    if not re.search(hints, text.lower()):
        assert redact(text) == text


@given(st.lists(st.sampled_from([*HOSTILE, KEY, ",", "=", "'", ")", "]"]), max_size=12))
def test_never_raises(pieces: list[str]) -> None:
    assert isinstance(redact("".join(pieces)), str)


@pytest.mark.parametrize("piece", HOSTILE)
def test_time_grows_with_the_length_only(piece: str) -> None:
    def seconds(length: int) -> float:
        text = (piece * (length // len(piece) + 1))[:length]
        return min(_timed(text) for _ in range(3))

    # Eight times the text: a linear pass takes 8 times as long, a quadratic one 64 times.
    # The constant keeps what takes microseconds out of it.
    assert seconds(160_000) < 24 * seconds(20_000) + 0.01


def _timed(text: str) -> float:
    started = time.process_time()
    redact(text)
    return time.process_time() - started


def test_fingerprints_compare_without_the_value() -> None:
    assert fingerprint("Xq7") == fingerprint("Xq7")
    assert fingerprint("Xq7") != fingerprint("Yq8")
    assert re.fullmatch(r"\*\*\*[0-9a-f]{8}", fingerprint("Xq7"))
    assert re.fullmatch(r"\*\*\*[0-9a-f]{8}", fingerprint("\ud800"))


@pytest.mark.parametrize(
    "name",
    [
        "api_key",
        "--api-key",
        "apikey",
        "judge_api_key",
        "api_keys",
        "token",
        "hf_token",
        "HF_TOKEN",
        "accessToken",
        "password",
        "passwd",
        "client_secret",
        "AWS_SECRET_ACCESS_KEY",
        "Authorization",
        "secrets",
        "db_pwd",
        "signing-key",
        "credentials",
        "auth",
        "x" * 1000 + "_api_key",
    ],
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "max_tokens",
        "tokenizer",
        "max_prompt_adapter_token",
        "eos_token",
        "num_batched_tokens",
        "return_tokens_as_token_ids",
        "ssl_keyfile",
        "api_key_file",
        "allow_credentials",
        "PWD",
        "author",
        "auth_type",
        "key",
        "detoken",
    ],
)
def test_names_of_other_things(name: str) -> None:
    assert not is_secret_name(name)


def test_real_logs_hold_no_more_secrets_than_their_masks(shared: Path) -> None:
    """Everything in the real logs was masked before; nothing in them may be taken for a secret."""
    log = shared / "real" / "docker-pair-508-168.log"
    text = log.read_text(encoding="utf-8", errors="replace")
    changed = [line for line in text.split("\n") if redact(line) != line]
    assert changed == []
