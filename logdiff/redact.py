"""Secrets out of everything that is quoted.

Logs and launch files reach people and machines that the secrets in them were not meant for, so
every line is passed through :func:`redact` before it is shown. Secrets are told by three things:
the name they are given to (``api_key=…``, ``--api-key …``, ``Authorization: …``), the place they
stand in (``scheme://user:password@host``) and their own shape (``sk-…``, ``hf_…``, private keys).

An inference server talks about *tokens* all day, and none of those are secret. Names such as
``eos_token``, and numbers small enough to be the id of a token, are therefore left alone.

All patterns take time linear in the text, hostile text included: what they repeat never overlaps
with what follows, or is possessive, and runs that could be entered at many places are entered
at their first character only.
"""

from __future__ import annotations

import re
from functools import lru_cache

from logdiff.patterns import compiled

MASK = "***"
"""What stands where a secret stood."""

_REMEMBERED_LENGTH = 200
"""Characters of a text that is remembered."""
_PREFIX_LIMIT = 64
"""Characters in front of the secret part of a name that are looked at."""

_CORE = (
    r"(?:(?i:api[ _-]?keys?|access[ _-]?keys?(?:[ _-]?id)?|secrets?(?:[ _-]?keys?)?"
    r"|(?:account|auth|encryption|licen[cs]e|master|private|session|signing|ssh)[_-]?keys?"
    r"|(?<!/etc/)passw(?:or)?ds?|passphrase|passcode|authorization|密码|密钥|口令|访问令牌)"
    # The shell's own PWD is a folder; what is called so in lower case or as a part is not.
    r"|(?<=[_-])(?i:pwd)|(?<![A-Za-z_-])pwd"
    # These are words of sentences too ("auth: failed"), so only pairs that a program prints count.
    r"|(?<![A-Za-z0-9])(?i:auth|(?<!allow[_-])credentials?|cookies?)(?=\\*[\"']|[ \t]?=|\Z)"
    # In front of "token" a word must end, or "detoken: 5" would be one; camel case ends it too.
    r"|(?<![A-Za-z0-9])(?i:token)|(?<=[a-z0-9])T(?i:oken))"
)
_NAME_HINTS = (
    "key", "token", "secret", "passw", "passphrase", "passcode", "auth", "credential", "cookie",
    "pwd", "密", "口令", "令牌",
)  # fmt: skip
"""One of these is in whatever ``_CORE`` matches, in lower case."""
# Logs are full of tokens per second and tokenizers: behind the name of a secret the word ends.
_NAME_HINT = compiled("|".join(_NAME_HINTS).replace("token", r"token(?![a-z0-9_/-])"))
_LONGEST_LEAD = 16
"""Characters of ``_CORE`` in front of the hint, at most (``encryption_key``)."""

_SPACE = r"[ \t]{0,64}+"
_NAME_END = r"\\*+[\"']?+"
_ANNOTATION = rf":{_SPACE}(?:str|bytes|Optional\[str\]|str ?\| ?None){_SPACE}=(?!=)"
_ASSIGNMENT = rf"{_NAME_END}{_SPACE}(?:{_ANNOTATION}|=>|:=|=(?!=)|:(?![:=])|：){_SPACE}"
# An environment in Kubernetes' form: name: HF_TOKEN, value: …, on one line or on two.
_VALUE_KEY = (
    rf"{_NAME_END}\s{{0,64}}+,?+\s{{0,64}}+[\"']?+(?i:value)\b{_NAME_END}{_SPACE}[:=]{_SPACE}"
)
# Words of a command line, also when it is printed as a list or written as a YAML sequence.
_ARGUMENT = rf"{_NAME_END}(?:,\s{{0,64}}+|\s{{1,64}}+(?:-\s{{1,8}}+)?)"
_NAMED = compiled(
    rf"(?s:.{{0,{_LONGEST_LEAD}}}?)(?P<name>{_CORE})(?:{_ASSIGNMENT}|{_VALUE_KEY}|(?P<argument>{_ARGUMENT}))"
)

_SCHEME = r"(?i:bearer|basic|digest|negotiate|token|apikey)[ \t]{1,8}+"
_ESCAPED_QUOTED = r"\\++[\"'](?:[^\"'\\\n]|\\++[^\"'\\\n])*+"
_STRING = r"\"(?:[^\"\\\n]|\\.)*+\"?|'(?:[^'\\\n]|\\.)*+'?"
_LIST = (
    rf"[\[(](?:{_STRING}|[^\])'\"\n])*+"
    rf"|\{{(?=[ \t]{{0,8}}[\"'])(?:{_STRING}|[^}}'\"\n])*+"
)
# Punctuation belongs to an unquoted value, unless it ends the value or another name follows it.
_BARE = r"(?:[^\s,;&\"'\[({<]|[\[({<](?![\s\"'])|[,;&](?!\s|$|[\"']|[\w.-]++[=:]))++"
_VALUE = compiled(
    rf"(?P<quoted>(?:[\w.]++\()?+[bBrRuUfF]{{0,2}}(?:{_STRING})|{_ESCAPED_QUOTED})"
    rf"|(?P<list>{_LIST})"
    r"|(?P<placeholder><[^<>\n]{0,200}+>+)"
    rf"|(?P<bare>(?:{_SCHEME})?{_BARE})"
)
_OPENING = compiled(rf"[^\"'\\]*+\\*+(?P<quote>[\"'])(?P<scheme>{_SCHEME})?")
_LIST_ITEM = compiled(r"\"(?P<double>(?:[^\"\\\n]|\\.)*+)\"?|'(?P<single>(?:[^'\\\n]|\\.)*+)'?")
_LEADING_SCHEME = compiled(_SCHEME)
# vLLM takes several keys behind one flag; only words that look like keys are taken for more.
_MORE_KEYS = compiled(r"(?:[ \t]++(?!-)(?=[^\s/\d]*+\d)[^\s/]{8,}+(?!\S))++")

_FLAG = compiled(r"(?:(?<![\w-])--?|\bENV[ \t]{1,8})[\w.-]*\Z")
"""In front of the name: a dash or two, or Dockerfile's ``ENV NAME value``."""
_HEADER_TUPLE = compiled(r"\(b?[\"'](?:x-)?\Z", re.IGNORECASE)
"""In front of a header's name as an ASGI server prints it: ``(b'authorization', b'…')``."""
_COMPOUND = compiled(r"(?P<word>[a-z]+)[_-]?\Z", re.IGNORECASE)

_HARMLESS_VALUE = compiled(
    r"|\*+(?:[0-9a-f]{8})?|[Nn]one|NONE|[Nn]ull|NULL|[Tt]rue|TRUE|[Ff]alse|FALSE|undefined|%[-.\d]*[a-z]"
    r"|[+-]?[\d.]{1,3}"  # too short to be a secret
    # A reference to a secret, which a fix must be able to show.
    r"|\$[A-Z_][A-Z0-9_]*|\$\{\w+(?::-)?\}?|\$\(.*|\{\w*\}?"
    r"|str|int|bool|bytes|string|Optional\[\w+"  # a type, in a line of source code
    r"|无|空|(?:未|已)(?:设置|配置)"
)
_TOKEN_NUMBER = compiled(r"[+-]?\d{1,7}(?:\.\d+)?%?")
"""The id of a token or a figure about tokens; vocabularies have fewer than 10^7 of them."""

_TOKEN_WORDS = frozenset(
    "adapter audio begin bonus boi bos call cls document draft each eoi eom eos eot end first fim"
    " generated image input last mask modal next out output pad per placeholder prompt response"
    " sep special start stop text think thinking tool unk video vision".split()
)
"""Words that make a ``…_token`` a piece of text instead of a credential."""

_PROSE_WORDS = frozenset(
    "and argument flag for if in is must not option or required requires set the to was when"
    " with".split()
)
"""Words that follow a flag in a sentence about it (``--api-key is required``)."""

_CLOSING = ")]}>."
"""What is taken for the text's own where it ends an unquoted value."""

# What most lines have no use for stays text until a line has: compiling costs more than matching.
_PRIVATE_KEY = (
    r"(?s:(?P<begin>-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----)"
    r".*?(?P<end>-----END [A-Z ]{0,30}PRIVATE KEY-----|\Z))"
)
_URL_PAIR = r"://[^\s/?#@:\"'<>]*+:[^\s/?#\"'<>]*@"
_URL_ALONE = r"://[^\s/?#@:\"'<>]{16,}+@"
_BEARER = (
    r"\b(?P<scheme>(?i:bearer)[ \t]{1,8}+)"
    r"(?!(?i:realm=|(?:tokens?|auth|authentication|authorization|scheme|format)(?![\w.~+/=-])))"
    r"[\w.~+/=-]{4,}+"
)
# What signs a request, in the address that it goes to; chat rooms take messages at secret ones.
_URL_QUERY = (
    r"(?P<name>[?&](?i:key|sig|signature|x-(?:amz|goog)-(?:signature|credential))=)"
    r"[^\s&\"'<>#]{8,}+"
)
_WEBHOOK = r"(?P<place>//hooks\.slack\.com/services/|/bot/v2/hook/)[\w/-]{8,}+"
_COOKIES = (
    r"(?P<name>\b(?i:cookie)\\*[\"']?+[ \t]{0,4}+[:,][ \t]{0,4}+b?+\\*[\"']?+)"
    r"[\w.-]{1,64}+=[^\r\n\"'\\]*+"
)
_SHAPES = (
    r"(?<![\w-])(?:"
    r"sk-(?:(?=[A-Za-z_-]*+\d)[\w-]{8,}+|[\w-]{20,}+)"  # OpenAI and the many that copied it
    r"|eyJ[\w-]{8,}+\.[\w-]*+(?:\.[\w-]*+)?"  # JSON web token
    r"|AIza[\w-]{20,}+"  # Google
    r"|xox[abeoprs]-[\w-]{8,}+"  # Slack
    r"|(?:nvapi-|glpat-|dckr_pat_|gsk_)[\w-]{16,}+"  # NVIDIA, GitLab, Docker, Groq
    r")"
    r"|(?<![A-Za-z0-9])(?:"
    r"hf_(?:[A-Za-z]*+\d[A-Za-z0-9]{7,}+|[A-Za-z0-9]{20,}+)"  # Hugging Face; not hf_overrides
    r"|gh[opsur]_[A-Za-z0-9]{16,}+"  # GitHub
    r"|github_pat_\w{16,}+"
    r"|A(?:KI|SI)A[0-9A-Z]{12,}+"  # Amazon
    r")"
)

_SHAPE_HINTS = (
    "sk-", "eyJ", "AIza", "xox", "nvapi-", "glpat-", "dckr_pat_", "gsk_", "hf_",
    "gho_", "ghp_", "ghs_", "ghu_", "ghr_", "github_pat_", "AKIA", "ASIA",
)  # fmt: skip
"""One of these is in whatever ``_SHAPES`` matches."""

_ON_DEMAND = (
    _PRIVATE_KEY, _URL_PAIR, _URL_ALONE, _URL_QUERY, _WEBHOOK, _COOKIES, _BEARER, _SHAPES,
)  # fmt: skip
_SECRET_NAME = compiled(rf"(?P<name>{_CORE})\Z")


def compile_all() -> None:
    """Compile the patterns that most logs have no use for, so that they can be remembered."""
    for source in _ON_DEMAND:
        compiled(source)


def redact(text: str) -> str:
    """Return ``text`` with every secret in it replaced by ``***``.

    Names, quotes and the scheme of an ``Authorization`` header stay, so that a reader sees *that*
    something was set. ``None``, booleans, references such as ``$HF_TOKEN`` and numbers of up to
    three characters stay as well. A secret is only known by its name where both are in ``text``:
    a value on the line after its name needs both lines.
    """
    return _remembered(text) if len(text) <= _REMEMBERED_LENGTH else _without_secrets(text)


@lru_cache(maxsize=2048)
def _remembered(text: str) -> str:
    """The names of facts, workers and files come again and again."""
    return _without_secrets(text)


def _without_secrets(text: str) -> str:
    if "PRIVATE KEY" in text:
        text = compiled(_PRIVATE_KEY).sub(rf"\g<begin>{MASK}\g<end>", text)
    if "://" in text:
        text = compiled(_URL_PAIR).sub(f"://{MASK}:{MASK}@", text)
        text = compiled(_URL_ALONE).sub(f"://{MASK}@", text)
    if "?" in text:
        text = compiled(_URL_QUERY).sub(rf"\g<name>{MASK}", text)
    if "/hook" in text:
        text = compiled(_WEBHOOK).sub(rf"\g<place>{MASK}", text)
    lowered = text.lower()
    if "cookie" in lowered:
        text = compiled(_COOKIES).sub(rf"\g<name>{MASK}", text)
    if any(map(lowered.__contains__, _NAME_HINTS)):  # most lines have none; the rest is slower
        text = _redact_named(text)
    if "bearer" in lowered:
        text = compiled(_BEARER).sub(rf"\g<scheme>{MASK}", text)
    if any(map(text.__contains__, _SHAPE_HINTS)):
        text = compiled(_SHAPES).sub(MASK, text)
    return text


def fingerprint(value: str) -> str:
    """Return ``***`` and the first eight hexadecimal digits of the SHA-256 of ``value``.

    Two runs can be compared by it without either secret being kept.
    """
    import hashlib

    digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
    return MASK + digest[:8]


@lru_cache(maxsize=1024)
def is_secret_name(name: str) -> bool:
    """Whether an argument, variable or key of this ``name`` holds a secret.

    Dashes in front are allowed (``--api-key``). ``api_key_file`` names a file and is none.
    """
    match = _SECRET_NAME.search(name[-2 * _PREFIX_LIMIT :])
    return match is not None and not _is_text_token(match)


def harmless(name: str, value: object) -> object:
    """The value of an argument or a variable without its secrets; equal secrets stay equal."""
    if value is None or isinstance(value, bool) or value == "":
        return value
    if isinstance(value, (list, tuple)):
        # A word that names a secret is followed by it: ['--api-key', …], ('Authorization', …).
        names = [name, *(_name_of_next(name, item) for item in value)]
        return [harmless(before, item) for before, item in zip(names, value, strict=False)]
    if isinstance(value, dict):
        secret = is_secret_name(name)
        # Kubernetes' form: {'name': 'HF_TOKEN', 'value': …}.
        named = _name_of_next(name, value.get("name"))
        return {
            redact(key): harmless(name if secret else named if key == "value" else key, item)
            for key, item in value.items()
        }
    if is_secret_name(name):
        return fingerprint(str(value))
    if isinstance(value, str) and (clean := redact(value)) != value:
        return f"{clean} ({fingerprint(value)})"
    return value


def _name_of_next(name: str, word: object) -> str:
    return word if isinstance(word, str) and is_secret_name(word) else name


def _redact_named(text: str) -> str:
    """Replace the values of all names that mean a secret."""
    pieces: list[str] = []
    done = position = 0
    lowered = _lowered(text)
    while name := _next_name(text, lowered, position):
        position = name.end()
        # A value is only looked for where it will be used up, or hostile text could have one
        # long value read once for each of many names.
        if _is_text_token(name) or (name["argument"] and not _is_argument(name)):
            continue
        if value := _VALUE.match(text, position):
            pieces += text[done:position], _redacted_value(name, value)
            done = position = value.end()
            if name["argument"] and (more := _MORE_KEYS.match(text, position)):
                pieces.append(" " + MASK)
                done = position = more.end()
    pieces.append(text[done:])
    return "".join(pieces)


def _lowered(text: str) -> str:
    """Return the text in lower case, each character at its place."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def _next_name(text: str, lowered: str, position: int) -> re.Match[str] | None:
    """Find the next name of a secret. Only near its hints: looking everywhere takes far longer."""
    while hint := _NAME_HINT.search(lowered, position):
        if name := _NAMED.match(text, max(position, hint.start() - _LONGEST_LEAD)):
            return name
        position = hint.end()
    return None


def _redacted_value(name: re.Match[str], value: re.Match[str]) -> str:
    """Return a value without its secret, or as it is where it holds none."""
    if value["placeholder"]:
        return value[0]
    if value["quoted"]:
        return _redacted_string(name, value[0])
    if value["list"]:
        return _redacted_list(name, value[0])
    secret = value[0].rstrip(_CLOSING)
    if _is_harmless(name, secret) or (name["argument"] and secret in _PROSE_WORDS):
        return value[0]
    scheme = _LEADING_SCHEME.match(secret)
    return (scheme[0] if scheme else "") + MASK + value[0][len(secret) :]


def _redacted_string(name: re.Match[str], text: str) -> str:
    """Replace what stands between the quotes; the last one is missing where a log was cut off."""
    opening = _OPENING.match(text)
    if opening is None:
        return MASK
    rest = text[opening.end() :]
    closing = opening["quote"] if rest.endswith(opening["quote"]) else ""
    secret = rest.removesuffix(closing)
    return text if _is_harmless(name, secret) else opening[0] + MASK + closing


def _redacted_list(name: re.Match[str], text: str) -> str:
    """Replace each string of a list or dictionary, or all of it where nothing is quoted."""

    def replaced(item: re.Match[str]) -> str:
        secret = item["single"] if item["double"] is None else item["double"]
        is_key = text[0] == "{" and text[item.end() : item.end() + 8].lstrip().startswith(":")
        if is_key or _is_harmless(name, secret):
            return item[0]
        quote = item[0][0]
        return quote + MASK + (quote if item.end() > item.end(item.lastgroup or 0) else "")

    if "'" in text or '"' in text:
        return _LIST_ITEM.sub(replaced, text)
    items = text[1:].split(",")
    harmless = all(_is_harmless(name, item.strip()) for item in items)
    return text if harmless else text[0] + MASK


def _is_harmless(name: re.Match[str], value: str) -> bool:
    """Whether a value cannot be a secret, going by itself."""
    if _HARMLESS_VALUE.fullmatch(value):
        return True
    if name["name"] == "pwd":
        return value.startswith("/")
    return name["name"].lower() == "token" and _TOKEN_NUMBER.fullmatch(value) is not None


def _before(name: re.Match[str]) -> str:
    """Return what stands in front of the secret part of a name, the nearest characters only."""
    start = name.start("name")
    return name.string[max(0, start - _PREFIX_LIMIT) : start]


def _is_text_token(name: re.Match[str]) -> bool:
    """Whether a name like ``eos_token`` means a piece of text."""
    if name["name"].lower() != "token":
        return False
    compound = _COMPOUND.search(_before(name))
    return compound is not None and compound["word"].lower() in _TOKEN_WORDS


def _is_argument(name: re.Match[str]) -> bool:
    """Whether the word after a name is its value: after a flag, unless it is the next flag."""
    before = _before(name)
    if "," in name["argument"] and _HEADER_TUPLE.search(before):
        return True
    is_last = name.string[name.end() : name.end() + 2].lstrip("\\\"'").startswith("-")
    return not is_last and _FLAG.search(before) is not None
