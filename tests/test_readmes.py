"""The README in English and the one in Chinese say the same, section by section."""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
ENGLISH, CHINESE = "README.md", "README.zh-CN.md"

LINK = re.compile(r"\]\(([^)\s]+)\)")
SPAN = re.compile(r"`([^`]+)`")
COMMENT = re.compile(r"(^|\s+)#.*")


class Section(NamedTuple):
    """What a section is made of, apart from the words of its language."""

    level: int
    code: list[str]
    links: set[str]
    spans: set[str]


def without_comments(line: str) -> str:
    """Code, and whether a comment stands behind it; not what the comment says."""
    return COMMENT.sub("  #", line).rstrip()


def sections(text: str) -> list[Section]:
    found: list[Section] = []
    prose: list[str] = []
    in_code = False

    def close() -> None:
        if found:
            words = " ".join(prose)
            # Each links to the other at its top: only there do they differ.
            found[-1].links.update(set(LINK.findall(words)) - {ENGLISH, CHINESE})
            found[-1].spans.update(" ".join(span.split()) for span in SPAN.findall(words))
        prose.clear()

    for line in text.splitlines():
        fence = line.startswith("```")
        if not in_code and line.startswith("#"):
            close()
            found.append(Section(len(line) - len(line.lstrip("#")), [], set(), set()))
        elif fence or in_code:
            found[-1].code.append(line if fence else without_comments(line))
            in_code = in_code != fence
        else:
            prose.append(line)
    close()
    assert not in_code, "a fence is not closed"
    return found


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_both_have_the_same_sections_with_the_same_code_and_links() -> None:
    english, chinese = sections(read(ENGLISH)), sections(read(CHINESE))
    assert [section.level for section in chinese] == [section.level for section in english]
    for here, there in zip(english, chinese, strict=True):
        assert there == here


@pytest.mark.parametrize(
    ("what", "instead"),
    [
        ("\n## ", "\n## More\n\n## "),
        ("\n## ", "\n### "),
        ("make demo", "make show"),
        ("kind: http", "kind: http  # the web"),
        ("(docs/cli.md)", "(docs/api.md)"),
        ("`kind: code`", "`kind: shell`"),
        ("```yaml", "```json"),
    ],
)
def test_a_change_to_one_alone_is_found(what: str, instead: str) -> None:
    before = read(ENGLISH)
    after = before.replace(what, instead, 1)
    assert after != before
    assert sections(after) != sections(before)


def test_the_words_of_comments_may_differ() -> None:
    english = "# T\n\n```sh\nmake up    # starts it\n```\n"
    assert sections(english.replace("starts it", "启动")) == sections(english)


@pytest.mark.parametrize(("name", "other"), [(ENGLISH, CHINESE), (CHINESE, ENGLISH)])
def test_each_links_to_the_other_at_its_top(name: str, other: str) -> None:
    top = read(name).splitlines()[:5]
    assert any(f"]({other})" in line for line in top)


@pytest.mark.parametrize("name", [ENGLISH, CHINESE])
def test_what_it_links_to_is_there(name: str) -> None:
    targets = {link.partition("#")[0] for link in LINK.findall(read(name)) if "://" not in link}
    assert sorted(target for target in targets if not (ROOT / target).exists()) == []
