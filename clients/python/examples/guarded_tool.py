"""A tool of your own that asks the ledger before each call.

It needs a service with the starter's tools and policy, and an agent's token in ``coder.token``.
"""

from __future__ import annotations

import os

from bitacora_ledger import Call, Client, Denied, ReviewPending, guarded

COMMANDS = ("ls", "git push --force", "rm notes.txt")


def main() -> None:
    with Client(token_file="coder.token") as client:

        # Without `patience_s=0` a reviewed call waits five minutes for a person.
        @guarded(client, Call("Bash", cwd=os.getcwd()), patience_s=0)
        def bash(command: str) -> str:
            return f"ran {command}"

        for command in COMMANDS:
            try:
                print(bash(command))
            except ReviewPending as pending:
                print(f"waits for a person: bitacora approvals approve {pending.approval}")
            except Denied as denied:
                print(denied)


if __name__ == "__main__":
    main()
