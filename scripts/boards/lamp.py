"""A server of tools for the machine: the parts of the Model Context Protocol that a client needs, in shell."""

from host import AT

SCRIPT = """
say() { printf '{"jsonrpc":"2.0","id":%s,%s}\\n' "$id" "$1"; }
while read -r line; do
    id=${line#*'"id":'}
    id=${id%%[!0-9]*}
    case $line in
    *'"method":"initialize"'*)
        say '"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"lamp","version":"1"}}' ;;
    *'"method":"tools/list"'*)
        say '"result":{"tools":[{"name":"switch","inputSchema":{"type":"object","properties":{"word":{"type":"string"}}}}]}' ;;
    *'"method":"tools/call"'*)
        word=${line#*'"word":"'}
        say '"result":{"content":[{"type":"text","text":"the lamp is '"${word%%'"'*}"'"}]}' ;;
    *'"id":'*)
        say '"error":{"code":-32601,"message":"unknown"}' ;;
    esac
done
"""
FILE = "lamp"


def servers(*names):
    """For the configuration."""
    lamp = {"command": "/bin/sh", "args": [f"{AT}/{FILE}"], "readOnlyPaths": [AT]}
    return {"mcpServers": {name: lamp for name in names}}


def switch(name):
    """The tool of a server, as the model knows it."""
    return f"mcp_{name}_switch"
