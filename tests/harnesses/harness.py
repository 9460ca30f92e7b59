"""The three harnesses that run without a window, started on a scripted model."""

import json
import subprocess

PATIENCE_S = 120


class Harness:
    """One coding agent. `settings` is the file that `connect` writes, below the home folder."""

    name = None
    settings = None

    def __init__(self, bitacora, model):
        self.bitacora, self.model = bitacora, model
        self.prepare()

    def prepare(self):
        pass

    def command(self):
        raise NotImplementedError

    def variables(self):
        raise NotImplementedError

    def without_hooks(self):
        """The options with which no hook runs."""
        return []

    def start(self, folder=None, options=(), own_group=False):
        return subprocess.Popen(
            [*self.command(), *options], env=self.bitacora.environment(**self.variables()), cwd=folder or self.bitacora.project,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=own_group,
        )

    def run_without_hooks(self):
        return self.run(self.without_hooks())

    def run(self, options=()):
        process = self.start(options=options)
        try:
            output, _ = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            raise AssertionError(f"{self.name} hangs: {process.communicate()[0]}") from None
        return output


class Claude(Harness):
    name, settings = "claude", ".claude/settings.json"

    def command(self):
        return ["claude", "-p", "go", "--allowedTools", "Bash", "--output-format", "json"]

    def without_hooks(self):
        return ["--settings", json.dumps({"disableAllHooks": True})]

    def variables(self):
        return {
            "ANTHROPIC_BASE_URL": self.model.url, "ANTHROPIC_API_KEY": "none", "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }


class Codex(Harness):
    name, settings = "codex", ".codex/hooks.json"

    def prepare(self):
        folder = self.bitacora.home / ".codex"
        folder.mkdir(exist_ok=True)
        (folder / "config.toml").write_text(
            'model = "gpt-5"\nmodel_provider = "scripted"\napproval_policy = "never"\n'
            'sandbox_mode = "danger-full-access"\n'
            f'[model_providers.scripted]\nname = "scripted"\nbase_url = "{self.model.url}/v1"\n'
            'wire_api = "responses"\nenv_key = "SCRIPTED_KEY"\n'
        )

    def command(self):
        # Codex runs new hooks after its user has looked at them; this flag stands for the look.
        return ["codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", "go"]

    def without_hooks(self):
        return ["-c", "features.hooks=false"]

    def variables(self):
        return {"SCRIPTED_KEY": "none"}


class Gemini(Harness):
    name, settings = "gemini", ".gemini/settings.json"

    def prepare(self):
        file = self.bitacora.home / self.settings
        file.parent.mkdir(exist_ok=True)
        settings = json.loads(file.read_text()) if file.exists() else {}
        if "security" not in settings:
            settings["security"] = {"auth": {"selectedType": "gemini-api-key"}}
            file.write_text(json.dumps(settings, indent=2))

    def command(self):
        return ["gemini", "-m", "gemini-2.5-flash", "-p", "go", "--yolo"]

    def run_without_hooks(self):
        """Gemini CLI has no option for it: its settings lack them for one run."""
        file = self.bitacora.home / self.settings
        with_hooks = file.read_text()
        settings = json.loads(with_hooks)
        del settings["hooks"]
        file.write_text(json.dumps(settings))
        try:
            return self.run()
        finally:
            file.write_text(with_hooks)

    def variables(self):
        return {
            "GOOGLE_GEMINI_BASE_URL": self.model.url, "GEMINI_API_KEY": "none", "GEMINI_CLI_TRUST_WORKSPACE": "true",
        }
