#!/usr/bin/env python3
"""Runs the scenarios of the MCP conformance suites against our client, and judges their checks.

    scripts/conformance/run.py CLIENT SUITES [WORD ...]

CLIENT is the program under test, SUITES the folder in which npm has installed the suites. With words, only the
scenarios whose names contain one of them run.

The suites' own verdict is not enough: some scenarios accept a client that never connects. Here each needs a
successful check, and none that failed or warned.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

# The suites and what of them applies: a package, the arguments, the file with the scenarios that have to run.
RUNS = [
    ("conformance-0.2", ["--requirements", "2026-07-28"], "requirements/2026-07-28.yaml"),
    ("conformance-0.2", ["--requirements", "2025-11-25"], "requirements/2025-11-25.yaml"),
    ("conformance-0.2", ["--scenario", "auth/2025-03-26-oauth-metadata-backcompat"], None),
    ("conformance-0.2", ["--scenario", "auth/2025-03-26-oauth-endpoint-fallback"], None),
    ("conformance-0.1", ["--suite", "all"], None),
]
# README.md says why.
EXPECTED = {
    "auth/enterprise-managed-authorization",
    "auth/cross-app-access-complete-flow",
    "auth/dpop",
    "auth/dpop-nonce",
    "auth/wif-jwt-bearer",
}
EXPECTED_OF = {"conformance-0.1": {"auth/2025-03-26-oauth-metadata-backcompat"}}
SECONDS = 300


def main():
    client, suites, *words = sys.argv[1:]
    faults = []
    for package, arguments, required in RUNS:
        folder = pathlib.Path(suites, "node_modules", package)
        runs = [arguments]
        if words:
            runs = [["--scenario", name] for name in names(folder, arguments) if any(w in name for w in words)]
        results = {}
        for one in runs:
            results |= run(client, suites, folder, one)
        print(f"\n== {package} {' '.join(arguments)}: {len(results)} scenarios")
        if not words:
            missing = required_of(folder, required) - results.keys()
            faults += [f"{package}: {name} did not run" for name in sorted(missing)]
            if not results:
                faults.append(f"{package} {arguments}: nothing ran")
        expected = EXPECTED | EXPECTED_OF.get(package, set())
        for name, checks in sorted(results.items()):
            problems = judge(name, checks)
            if problems and name not in expected:
                # Some measure time, and many run side by side.
                again = run(client, suites, folder, ["--scenario", name])
                problems = judge(name, again.get(name, []))
            verdict = "ok"
            if problems:
                verdict = "expected to fail" if name in expected else "FAILED"
            elif name in expected:
                verdict = "EXPECTED TO FAIL, BUT IT DID NOT"
            count = sum(check["status"] == "SUCCESS" for check in checks)
            print(f"{name}: {verdict} ({count} checks)")
            if verdict.isupper() or verdict == "FAILED":
                faults.append(f"{package}: {name}: {verdict}")
                for problem in problems:
                    print(f"    {problem}")
    if faults:
        sys.exit("\n" + "\n".join(faults))


def names(folder, arguments):
    """The names of the scenarios of a run."""
    if arguments[0] == "--requirements":
        return sorted(required_of(folder, f"requirements/{arguments[1]}.yaml"))
    if arguments[0] == "--scenario":
        return [arguments[1]]
    return []


def required_of(folder, file):
    """The scenarios for clients in a list of requirements."""
    if file is None:
        return set()
    text = (folder / file).read_text()
    section = re.search(r"^client:\n((?:[ #].*\n|\n)+)", text, re.M)
    found = set(re.findall(r"^  - (\S+)", section[1], re.M))
    assert len(found) > 10, file
    return found


def run(client, suites, folder, arguments):
    """Runs scenarios, and gives their checks by name."""
    nodes = list(pathlib.Path(suites, "node_modules").glob("node-linux-*/bin/node"))
    if not nodes:
        sys.exit("there is no node for this machine")
    with tempfile.TemporaryDirectory() as results:
        command = [nodes[0], folder / "dist/index.js", "client", "--command", client, *arguments, "-o", results]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=SECONDS)
        found = {}
        for file in pathlib.Path(results).glob("**/checks.json"):
            name = str(file.parent.relative_to(results))
            found[re.sub(r"-\d{4}-\d\d-\d\dT[\d-]+Z$", "", name)] = json.loads(file.read_text())
        return found


def judge(name, checks):
    """What is wrong with a scenario."""
    problems = [
        f"{check['status']}: {check['description']}: {check.get('errorMessage', '')}"
        for check in checks
        if check["status"] in ("FAILURE", "WARNING")
    ]
    if not any(check["status"] == "SUCCESS" for check in checks):
        problems.append("no check was successful")
    if name.startswith("auth/") and not any(check["status"] == "INFO" for check in checks):
        problems.append("no request came")
    return problems


main()
