"""What `peacrab doctor` and `peacrab doctor sandbox` say in each mode: as root, and as a user."""

import tempfile
from pathlib import Path

from board import LANDLOCK
from board import MODES as ALL_MODES
from machine import Job

MODES = tuple(ALL_MODES)
SECONDS = 900
AT = "/run/doctor"
REFUSED = "commands cannot be sandboxed here"
# What it says in the other modes, after what the kernel offers.
BLOCKED = "all blocked"
# Arguments: the sandbox that it must report, or that it must report none.
SCRIPT = f"""
PEACRAB_HOME=$(mktemp -d)
export PEACRAB_HOME
fail() {{ echo "doctor: $*"; exit 1; }}
{AT}/peacrab onboard --non-interactive > /dev/null || fail cannot make a home

{AT}/peacrab doctor > /tmp/doctor-$$ 2>&1
status=$?
cat /tmp/doctor-$$
[ $status = $1 ] || fail "doctor ended with $status"
# All of it, because each sandbox has the end of a stronger one.
[ $1 = 0 ] && row="($2)" || row=$2
grep "^[a-z]* *sandbox" /tmp/doctor-$$ | grep -qF "$row" || fail "doctor does not report: $row"
for row in config clock disk tls; do
    grep -q "^ok *$row" /tmp/doctor-$$ || fail "doctor complains of $row"
done
errors=$(grep -c "^failed" /tmp/doctor-$$)
[ "$errors" = $1 ] || fail "$errors rows of doctor failed"

{AT}/peacrab doctor sandbox > /tmp/sandbox-$$ 2>&1
status=$?
cat /tmp/sandbox-$$
[ $status = $1 ] || fail "doctor sandbox ended with $status"
grep -qF "$2" /tmp/sandbox-$$ || fail "doctor sandbox does not report: $2"
if [ $1 = 0 ]; then
    grep -qxF "  $2" /tmp/sandbox-$$ || fail "doctor sandbox reports more than: $2"
    grep -q "{BLOCKED}" /tmp/sandbox-$$ || fail "not all escape attempts were blocked"
fi
"""


def run(round):
    with tempfile.TemporaryDirectory() as name:
        script = Path(name) / "doctor"
        script.write_text(SCRIPT)
        jobs = [
            Job(f"doctor as {user}", f'sh {AT}/doctor {status} "{said}"', user, SECONDS)
            for user in ("root", "board")
            for status, said in [expected(round.board, round.mode, user)]
        ]
        round.machine(AT, [round.built, script], jobs, SECONDS)


def expected(board, mode, user):
    """The exit status, and the sandbox that is reported."""
    if "a sandbox" in mode.missing(user):
        return 1, REFUSED
    parts = [f"Landlock v{LANDLOCK[board.release]}"] * mode.landlock + ["seccomp"]
    if mode.namespaces:
        parts.insert(0, "namespaces")
    elif user == "root":
        parts.insert(0, "namespaces (without user namespaces)")
    return 0, ", ".join(parts)
