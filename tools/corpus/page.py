"""build/corpus/report.html: the page of 'ptxopt view -report' about rows of the last run."""
import json
import os
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))


def runs(rows):
    """The rows that have an output, as 'ptxopt view -report -runs' reads them (docs/formats.md)."""
    made = []
    for row in rows:
        command = row["command"]
        report = next((word.split("=", 1)[1] for word in command if word.startswith("-report=")), None)
        if not report or not os.path.exists(row["output"]) or not os.path.exists(report):
            continue
        made.append({"input": os.path.relpath(row["source"], ROOT), "output": row["output"], "report": report})
        if "-launch" in command:
            made[-1]["launch"] = command[command.index("-launch") + 1]
    return made


def make_page(program, path, table, arch, options):
    """Writes the page about the rows of an architecture and an option set; the exit status of ptxopt."""
    rows = [row for row in table["rows"] if row["ptx"] == arch and row["options"] == options]
    assembler = f"{table['assembler']['name']} {table['assembler']['version']}".strip()
    listed = {"format": "ptxopt-runs", "version": 1, "runs": runs(rows),
              "title": f"The corpus with {options}, {arch}, {assembler}"}
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump(listed, file)
        file.flush()
        return subprocess.run([os.path.abspath(program), "view", "-q", "-report", "-arch", arch,
                               "-o", os.path.abspath(path), "-runs", file.name], cwd=ROOT, check=False).returncode
