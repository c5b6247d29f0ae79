"""Makes a Go test binary name the calling controller in its User-Agent.

All controllers of a suite, and the test itself, share one process and one User-Agent: in the audit log they are one client. A copy of
client-go with one more function adds the caller's type to the agent, so that the log tells them apart. Nothing else differs: no request,
no timing, no source file of the operator. Stripping the suffix gives the log of the unchanged suite.
"""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_FILE = "transport/round_trippers.go"
_LINE = 'req.Header.Set("User-Agent", rt.agent)'
_NAMED = 'req.Header.Set("User-Agent", rt.agent+callerOf())'
#: The outermost Reconcile of the operator on the stack, else the outermost function of the operator; none for informers.
_FUNCTION = """
package transport

import (
	"runtime"
	"strings"
)

const operatorModule = "{module}/"

func callerOf() string {{
	var counters [256]uintptr
	frames := runtime.CallersFrames(counters[:runtime.Callers(2, counters[:])])
	found, reconciles := "", false
	for {{
		frame, more := frames.Next()
		if strings.HasPrefix(frame.Function, operatorModule) {{
			name := frame.Function[strings.LastIndex(frame.Function, "/")+1:]
			isReconcile := strings.HasSuffix(name, ".Reconcile")
			if isReconcile || !reconciles {{
				found = typeOf(name, frame.File)
			}}
			reconciles = reconciles || isReconcile
		}}
		if !more {{
			break
		}}
	}}
	if found == "" {{
		return ""
	}}
	return "/" + found
}}

func typeOf(name, file string) string {{
	if strings.HasSuffix(file, "_test.go") || strings.Contains(file, "/test/") {{
		return "test"
	}}
	parts := strings.Split(name, ".")
	if len(parts) > 2 && strings.HasPrefix(parts[1], "(") {{
		return parts[0] + "." + strings.Trim(parts[1], "(*)")
	}}
	return parts[0]
}}
"""


def name_callers(go: str, source: Path, module: str) -> None:
    """Replace client-go in the module's go.mod by a copy that names the caller. Done once."""
    target = source.with_name(f"{source.name}-client-go")
    if target.exists():
        return
    told = subprocess.run([go, "list", "-m", "-f", "{{.Dir}}", "k8s.io/client-go"], cwd=source, capture_output=True, text=True, check=True)
    copied = shutil.copytree(told.stdout.strip(), target.with_suffix(".partial"), copy_function=shutil.copyfile, dirs_exist_ok=True)
    for path in [copied, *copied.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    text = (copied / _FILE).read_text()
    if text.count(_LINE) != 1:
        raise RuntimeError(f"expected one line {_LINE!r} in client-go's {_FILE}, found {text.count(_LINE)}")
    (copied / _FILE).write_text(text.replace(_LINE, _NAMED))
    (copied / "transport" / "caller.go").write_text(_FUNCTION.format(module=module))
    copied.rename(target)
    subprocess.run([go, "mod", "edit", f"-replace=k8s.io/client-go={target}"], cwd=source, check=True)
