"""A reference in a command becomes the value, as one word, in any quotes: asked of a real shell."""

import os
import subprocess

import pytest

from windlass.worker.shell_text import QuotedHere, with_variables

VALUE = "a  'b' \"c\" $HOME `id` $(id) * \\ ; #\nline"
NAMES = {"A": "WINDLASS_SECRET_1"}


def said(command: str) -> str:
    text = with_variables(command, NAMES)
    assert VALUE not in text
    env = {"PATH": os.environ["PATH"], "WINDLASS_SECRET_1": VALUE}
    done = subprocess.run(["/bin/sh", "-c", text], env=env, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("printf '<%s>' {{ secrets.A }}", f"<{VALUE}>"),
        ("printf '<%s>' x{{secrets.A}}y", f"<x{VALUE}y>"),
        ("printf '<%s>' 'x {{ secrets.A }} y' z", f"<x {VALUE} y><z>"),
        ('printf "<%s>" "x {{ secrets.A }} y" z', f"<x {VALUE} y><z>"),
        ("printf '<%s>' \"$(printf %s '{{ secrets.A }}')\"", f"<{VALUE}>"),
        ('printf "<%s>" "$(printf %s {{ secrets.A }})"', f"<{VALUE}>"),
        ('printf "<%s>" "$( (printf %s "{{ secrets.A }}") )" \'{{ secrets.A }}\'', f"<{VALUE}><{VALUE}>"),
        ("X={{ secrets.A }}; printf '<%s>' \"$X\"", f"<{VALUE}>"),
        ("# don't\nprintf '<%s>' '{{ secrets.A }}'", f"<{VALUE}>"),
        ("printf '<%s>' it\\'s {{ secrets.A }}", f"<it's><{VALUE}>"),
        ('printf "<%s>" "\\"{{ secrets.A }}"', f'<"{VALUE}>'),
        ("cat <<X\n'{{ secrets.A }}\nX\nprintf %s '{{ secrets.A }}'", f"'{VALUE}\n{VALUE}"),
        ("cat <<-X\n\t{{ secrets.A }}\n\tX\nprintf end", f"{VALUE}\nend"),
        ("X=`printf %s '{{ secrets.A }}'`; printf '<%s>' \"$X\"", f"<{VALUE}>"),
        ("case a in a) printf '<%s>' \"{{ secrets.A }}\";; esac", f"<{VALUE}>"),
    ],
)
def test_the_shell_takes_the_value_as_it_is(command: str, shown: str) -> None:
    assert said(command) == shown


def test_a_comment_stays_a_comment() -> None:
    assert said("printf x # '{{ secrets.A }}") == "x"


def test_a_here_document_that_is_not_looked_into_cannot_hold_one() -> None:
    with pytest.raises(QuotedHere):
        with_variables("cat <<'X'\n{{ secrets.A }}\nX", NAMES)
    assert with_variables("cat <<'X'\nplain\nX\n", NAMES) == "cat <<'X'\nplain\nX\n"
