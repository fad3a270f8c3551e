// The lists behind `path.secret` and `path.decidesLater`, as data; path-names.ts compares paths with them, and
// docs/path-lists.md is made from them. In an entry, `*` stands for any characters of one part of a path, `**` for any
// number of parts before the last, and a slash at the end for the folder and everything below. An entry holds at any
// depth, without regard to case.

export interface Group {
  why: string;
  /** Entries, separated by blanks. */
  entries: string;
}

export interface PathList {
  groups: readonly Group[];
  /** Names that the entries would take in, but that are meant to be read. */
  except: readonly string[];
}

export function entriesOf(list: PathList): string[] {
  return list.groups.flatMap(({ entries }) => entries.trim().split(/\s+/));
}

/** The day of the last change. */
export const VERSION = '2026-11-17';

export const SECRET: PathList = {
  except: ['.env.example', '.env.sample', '.env.template', '.env.dist'],
  groups: [
    {
      why: 'Variables of programs, with their passwords',
      entries: '.env .envrc .env.* .env-* .env_* .env~* *.env',
    },
    {
      why: 'Keys, certificates with keys, stores of passwords',
      entries: `*.pem *.key *.p12 *.pfx *.p8 *.jks *.keystore *.kdbx *.kdb *.ppk *.ovpn *.keytab *.agekey *.jwk
        id_rsa* id_dsa* id_ecdsa* id_ed25519* ssh_host_*_key wallet.dat .password-store/ keychains/ keyrings/`,
    },
    {
      why: 'Files that are named for what is in them',
      entries: `credentials credentials.json credentials.csv credentials.ini credentials.yaml credentials.yml credentials.toml
        credentials.xml credentials.enc credentials.db secret.json secrets.json secret.yaml secrets.yaml secret.yml secrets.yml
        secret.toml secrets.toml secret.txt secrets.txt secret.enc secrets.enc secrets.properties secrets.ini .secrets
        service-account*.json service_account*.json serviceaccount*.json *firebase-adminsdk*.json client_secret*.json
        application_default_credentials.json oauth_creds.json .credentials.json passwords.txt`,
    },
    {
      why: 'Passwords and tokens that programs look up by a fixed name',
      entries: `.netrc _netrc .npmrc .pypirc .pgpass pgpass.conf .my.cnf .mylogin.cnf .s3cfg .boto .dockercfg .git-credentials
        .htpasswd .vault-token .vault_pass* .vault-pass* .databrickscfg .msmtprc .fetchmailrc .authinfo* .terraformrc
        .claude.json kubeconfig *.kubeconfig`,
    },
    {
      why: 'Folders in which programs keep keys and tokens of a person',
      entries: `.ssh/ .aws/ .azure/ .gnupg/ .kube/ .docker/ .oci/ .snowflake/ .kaggle/ .config/gcloud/ roaming/gcloud/
        .config/gh/ .config/hub .config/glab-cli/ .config/op/ .config/doctl/ .config/rclone/ .config/github-copilot/
        .config/configstore/ .cache/huggingface/token .huggingface/token .cargo/credentials* .gem/credentials
        .m2/settings.xml .gradle/gradle.properties .composer/auth.json .config/composer/auth.json .subversion/auth/
        .terraform.d/ .codex/auth.json opencode/auth.json .mozilla/ .config/google-chrome/ .config/chromium/`,
    },
    {
      why: 'Infrastructure as code: values and state',
      entries: '*.tfstate *.tfstate.* *.tfvars *.tfvars.json',
    },
    {
      why: 'What was typed: commands with passwords in them',
      entries:
        '.*_history .bash_history .zsh_history .python_history .node_repl_history .psql_history .mysql_history .sqlite_history consolehost_history.txt',
    },
    {
      why: 'A repository’s configuration, which may hold the password of its server; the folder itself, because a search reads all of it',
      entries: '.git .git/**/config .git/**/config.worktree *.git/config',
    },
    {
      why: 'Passwords and processes of the machine',
      entries: `etc/shadow* etc/gshadow* etc/sudoers etc/sudoers.d/ etc/security/opasswd etc/ssl/private/
        networkmanager/system-connections/ run/secrets/ proc/*/environ proc/*/mem proc/*/root/ proc/*/cwd/ proc/*/fd/
        proc/*/task/ proc/*/map_files/ proc/*/cmdline proc/kcore`,
    },
    {
      why: 'Toolgate’s own: its store and backups of it, the admin token, the master key, the keys of connected agents',
      entries:
        'admin.token master.key printed-secrets.txt* toolgate*.db toolgate*.db-* .config/toolgate/ toolgate/clients.json toolgate/data/ .toolgate/',
    },
  ],
};

export const DECIDES_LATER: PathList = {
  except: [],
  groups: [
    {
      why: 'Git runs these or obeys them; a file called HEAD makes a repository of its folder, whose config git obeys',
      entries: '.git/ .gitattributes .gitmodules .gitconfig .config/git/ .githooks/ HEAD',
    },
    {
      why: 'Programs that run at a commit or a push',
      entries: `.husky/ .huskyrc* .overcommit.yml .pre-commit-config.yaml .pre-commit-config.yml .pre-commit-hooks.yaml
        lefthook.* .lefthook.* lefthook-local.* .lefthook/ .lefthook-local/ .lintstagedrc* lint-staged.config.* .simple-git-hooks.*
        simple-git-hooks.*`,
    },
    {
      why: 'Continuous integration and deployment, which run with rights of their own',
      entries: `.github/ .gitlab/ .gitea/ .forgejo/ .circleci/ .buildkite/ .woodpecker/ .semaphore/ .tekton/ .drone/ .teamcity/
        .azure-pipelines/ .azuredevops/ .harness/ .dagger/ .gitlab-ci* .travis.yml .drone.yml .drone.yaml .drone.star
        .drone.jsonnet .woodpecker.yml .woodpecker.yaml .appveyor.yml appveyor.yml .cirrus.yml .cirrus.star .build.yml .builds/
        .screwdriver.yaml screwdriver.yaml bitbucket-pipelines.yml azure-pipelines* cloudbuild*.yaml cloudbuild*.yml
        cloudbuild*.json buildspec*.yml buildspec*.yaml appspec.yml jenkinsfile jenkinsfile* *.jenkinsfile codefresh.yml
        .codefresh/ bitrise.yml wercker.yml shippable.yml .vela.yml .vela.yaml .prow.yaml .zuul.yaml .zuul.d/ .sourcehut/
        earthfile dagger.json amplify.yml .ebextensions/ .readthedocs.yml .readthedocs.yaml .goreleaser.yml .goreleaser.yaml netlify.toml vercel.json render.yaml heroku.yml
        renovate.json* .renovaterc* .mergify.yml codeowners`,
    },
    {
      why: 'Settings, hooks, tool servers and instructions of coding agents',
      entries: `.claude/ .codex/ .cursor/ .gemini/ .windsurf/ .codeium/ .goose/ .agents/ .agent/ .grok/ .qwen/ .roo/ .roomodes
        .cline/ .clinerules/ .clinerules* .kiro/ .amazonq/ .junie/ .opencode/ opencode.json opencode.jsonc .aider* .continue/
        .continuerc.json .zed/ .trae/ .augment/ .augment-guidelines .kilocode/ .kilocodemodes .factory/ .crush/ crush.json
        .crush.json .copilot/ .tabnine/ .cody/ .sourcegraph/ .openhands/ .devin/ .warp/ .qoder/ .lingma/ .iflow/ iflow.md .codebuddy/ codebuddy.md .amp/ .rules .cursorrules .windsurfrules
        .rooignore .roorules* .goosehints* .mcp.json mcp.json .mcp/ mcp.toml claude.md claude.*.md agents.md agents.*.md
        agent.md gemini.md qwen.md grok.md warp.md crush.md codex.md copilot-instructions.md *.instructions.md
        *.prompt.md *.chatmode.md *.agent.md skill.md .goose.yaml .hermes/ gemini-extension.json .claude-plugin/`,
    },
    {
      why: 'What a search or an agent leaves out',
      entries: `.gitignore .ignore .rgignore .fdignore .agignore .ackrc .ripgreprc .geminiignore .cursorignore
        .cursorindexingignore .codeiumignore .aiexclude .aiignore .claudeignore .clineignore .aiderignore .augmentignore
        .copilotignore .kilocodeignore .qwenignore .gooseignore .continueignore .dockerignore .npmignore`,
    },
    {
      why: 'Editors and containers that start programs when a folder is opened',
      entries: `.vscode/ *.code-workspace .idea/ .fleet/ .vs/ .devcontainer/ .devcontainer.json .gitpod.yml .gitpod.dockerfile
        .gitpod/ .replit .stackblitzrc .codesandbox/ .idx/ .nova/ *.sublime-project .exrc .vimrc .nvimrc
        .nvim.lua .lvimrc .vim/ .config/nvim/ .dir-locals.el .dir-locals-2.el .emacs .emacs.d/ `,
    },
    {
      why: 'Read when a shell starts or a folder is entered',
      entries: `.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout
        .kshrc .mkshrc .cshrc .tcshrc .login .logout .inputrc .config/fish/ .config/powershell/ *profile.ps1 .pam_environment
        .xprofile .xinitrc .xsessionrc .tmux.conf .screenrc .envrc .direnv/ .direnvrc .tool-versions .mise.toml mise.toml
        .mise.*.toml mise.*.toml .mise/ .config/mise/ .rtx.toml .asdfrc .env 
        `,
    },
    {
      why: 'Package managers, compilers and interpreters that run what these name, or load it unasked',
      entries: `node_modules/ .npmrc .yarnrc .yarnrc.* .yarn/ .pnp.cjs .pnp.js .pnpmfile.cjs .pnpmfile.js .pnpmfile.mjs
        pnpm-workspace.yaml bunfig.toml .bunfig.toml .cargo/ rust-toolchain rust-toolchain.toml .bundle/ .gemrc .irbrc .pryrc
        .pythonrc .pythonstartup sitecustomize.py usercustomize.py *.pth site-packages/ pip.conf pip.ini .pdbrc
        .condarc .m2/ .mvn/ .gradle/ gradle-wrapper.* maven-wrapper.* .sbtopts .jvmopts .sbt/
        nuget.config .config/dotnet-tools.json directory.build.* .bazelrc .bazeliskrc .buckconfig .gdbinit
        .lldbinit .curlrc .wgetrc .terraformrc .ansible.cfg ansible.cfg .ssh/ .rhosts .forward .venv/ venv/`,
    },
    {
      why: 'Programs that the machine starts by itself',
      entries: `.config/autostart/ .config/systemd/ .config/environment.d/ .local/bin/ launchagents/ launchdaemons/ etc/cron*
        etc/cron.d/ var/spool/cron/ etc/profile etc/profile.d/ etc/ld.so.preload etc/systemd/ etc/init.d/ etc/rc.local
        programs/startup/`,
    },
    {
      why: 'Toolgate’s own: the program, the server file, its data',
      entries:
        'toolgate.yaml toolgate.yml bin/toolgate bin/toolgate.* toolgate/ .toolgate/ .config/toolgate/ toolgate*.db toolgate*.db-* admin.token master.key',
    },
  ],
};
