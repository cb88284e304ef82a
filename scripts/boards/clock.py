"""The program at dates that boards have: 1970, before anything has set the clock; after the seconds no longer
fit into 32 bits; and far in the future. It keeps one home for all of them."""

import json
import tempfile
from pathlib import Path

from machine import HOST, Job
from outside import Outside, refuse

import certificates

MODES = ("all",)
SECONDS = 1800
AT = "/run/clock"
# The date; what the doctor thinks of it; and why TLS fails, with a certificate of today.
DATES = (
    ("1970-01-01", "failed", "until the time is set"),
    # No time service confirms these until the board has run for a while.
    ("2038-01-20", "\\(ok\\|warning\\)", "has expired"),
    ("2040-06-01", "\\(ok\\|warning\\)", "has expired"),
    # Back again, as after a start without a network.
    ("1970-01-02", "failed", "until the time is set"),
)
NOW = "2038-02-01"


def run(round):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        outside = Outside(now=lambda: answered("now"), later=lambda: answered("later"))

        def answered(what):
            outside.ask(f"append {what} to {what}.txt")
            outside.expect(f"to {what}.txt")

        for date, _, _ in DATES:
            outside.steps[date] = lambda date=date: answered(date)
        certificates.make(folder, HOST)
        secured = {"fake": {"apiBase": f"https://{HOST}:{refuse(folder)}/v1", "apiKey": "sk-boards"}}
        tls = outside.configuration(
            providers=secured,
            agents={"defaults": {"provider": "fake", "model": "fake-model"}},
            tls={"caFile": f"{AT}/authority.pem"},
        )
        (folder / "config.json").write_text(json.dumps(outside.configuration()))
        (folder / "tls.json").write_text(json.dumps(tls))
        (folder / "clock").write_text(outside.step() + SCRIPT)
        (folder / "jump").write_text(outside.step() + JUMP)
        files = [round.built]
        files += [folder / name for name in ("config.json", "tls.json", "authority.pem", "clock", "jump")]
        round.machine(AT, files, list(jobs()), SECONDS)


def jobs():
    for number, (date, clock, why) in enumerate(DATES, 1):
        yield f'date -s "{date} 12:00" > /dev/null\n'
        yield Job(date, f'sh {AT}/clock {date} {number} "{clock}" "{why}"', "board", SECONDS)
    yield 'date -s "1970-01-01 12:00" > /dev/null\n'
    yield Job("the clock jumps", f"sh {AT}/jump {NOW}", "root", SECONDS)


COMMON = f"""
peacrab={AT}/peacrab
fail() {{ echo "clock: $*"; exit 1; }}
configure() {{ cp {AT}/$1 $PEACRAB_HOME/config.json && chmod 600 $PEACRAB_HOME/config.json; }}
stop() {{ kill $gateway; wait $gateway || fail the gateway ended with $?; }}
"""

# Arguments: the date, how many dates there were, what the doctor says of the clock, why TLS fails.
SCRIPT = (
    COMMON
    + """
export PEACRAB_HOME=/tmp/clock
[ -d $PEACRAB_HOME ] || $peacrab onboard --non-interactive > /dev/null || fail cannot make a home
configure config.json
today() { tail -n 1 $1 | grep -qF "\\"$2\\":\\"${3:-$date}" || fail "the last line of $1 is not of $date"; }
date=$1

$peacrab agent -s tides -m "append $date to tides.txt" || fail the first turn failed
[ "$(tail -n 1 $PEACRAB_HOME/workspace/tides.txt)" = $date ] || fail nothing was appended
$peacrab agent -s tides -m "run date +%F" | grep $date || fail the command does not see the date
[ "$($peacrab sessions export tides | grep -c '"role":"user"')" = $((2 * $2)) ] || fail the journal lacks a turn
today $PEACRAB_HOME/sessions/cli_tides.jsonl timestamp
tail -n 1 $PEACRAB_HOME/audit.jsonl | grep -F $date || fail the audit log is not of $date
$peacrab sessions list | grep "^tides  *$date" || fail the list of sessions is not of $date

$peacrab doctor > /tmp/doctor; grep " clock " /tmp/doctor
grep -q "^$3  *clock" /tmp/doctor || fail "the doctor does not say $3"

$peacrab gateway > /tmp/gateway.log 2>&1 &
gateway=$!
step $date || { cat /tmp/gateway.log; fail no answer on Telegram; }
[ "$(cat $PEACRAB_HOME/workspace/$date.txt)" = $date ] || fail the gateway appended nothing
grep -q "^$date" /tmp/gateway.log || { cat /tmp/gateway.log; fail the log is not of $date; }
stop

configure tls.json
$peacrab agent -s tls -m hello > /tmp/tls 2>&1 && fail TLS works
cat /tmp/tls
grep -q "$4" /tmp/tls || fail "TLS does not fail because $4"
"""
)

# As root, because it sets the clock while the gateway runs.
JUMP = (
    COMMON
    + """
export PEACRAB_HOME=/tmp/jump
$peacrab onboard --non-interactive > /dev/null || fail cannot make a home
configure config.json
$peacrab gateway > /tmp/jump.log 2>&1 &
gateway=$!
step now || { cat /tmp/jump.log; fail no answer before the jump; }
date -s "$1 12:00"
step later || { cat /tmp/jump.log; fail no answer after the jump; }
stop
for date in 1970-01-01 $1; do
    grep -F "\\"timestamp\\":\\"$date" $PEACRAB_HOME/sessions/telegram_*.jsonl > /dev/null || fail "no entry of $date"
done
"""
)
