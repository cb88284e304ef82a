"""The model of the screens: it answers the questions of the story, and nothing else."""

import json
import threading

import model

LIST = "- milk\n- bread\n- 2 lemons\n"
LIST_QUESTION = "Make a shopping list: milk, bread and two lemons"
BOUGHT = "I bought the milk"
LEFT_QUESTION = "What is still on my shopping list?"
LOG_QUESTION = "Did the backup run last night?"
LOG_COMMAND = {
    "command": "journalctl -u backup --since yesterday",
    "escalate": True,
    "reason": "The system's log is outside the sandbox.",
}

# What the model does for each question: its calls one after the other, and then the answer.
STEPS = {
    LIST_QUESTION: [
        ("write_file", {"path": "shopping.txt", "content": LIST}),
        "Saved in `shopping.txt`: milk, bread and 2 lemons.",
    ],
    BOUGHT: [
        ("read_file", {"path": "shopping.txt"}),
        ("edit_file", {"path": "shopping.txt", "old_text": "- milk\n", "new_text": ""}),
        "Milk is off the list. Still to buy: **bread** and **2 lemons**.",
    ],
    LEFT_QUESTION: [
        ("read_file", {"path": "shopping.txt"}),
        "Still on the list:\n\n- bread\n- 2 lemons",
    ],
    LOG_QUESTION: [
        ("exec", LOG_COMMAND),
        "Yes. It started at 03:00, copied **1.2 GB** and ended at 03:12 without errors.",
    ],
}


class Connection(model.Connection):
    """Follows the steps of the last question."""

    models = ("gpt-6.1-sol", "gpt-6-luna")
    # Called before each step with the question and the number of the step.
    before = staticmethod(lambda question, step: None)

    def answer(self, messages):
        texts = [(at, model.text_of(one)) for at, one in enumerate(messages) if one["role"] == "user"]
        asked = [(at, question) for at, text in texts for question in STEPS if question in text]
        if not asked:
            return {"role": "assistant", "content": "This is a model of the tests."}, "stop"
        at, question = asked[-1]
        step = sum(one["role"] == "tool" for one in messages[at:])
        self.before(question, step)
        next_step = STEPS[question][min(step, len(STEPS[question]) - 1)]
        if isinstance(next_step, str):
            return {"role": "assistant", "content": next_step}, "stop"
        return model.calling(next_step)


def start(before=None):
    """Starts the server in threads of this process; returns its address."""
    kind = type("StoryConnection", (Connection,), {"before": staticmethod(before)} if before else {})
    server = model.server(kind)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/v1"
