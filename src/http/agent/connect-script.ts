// The script of /connect.sh, for a POSIX shell. It fetches the executable, if there is one for the machine, checks it by its
// digest, fetches a key, and lets the program connect the client. Neither ticket nor key is an argument of a process.

import type { OwnExecutable } from '../serving/own-executable.ts';

interface Filled {
  /** The address of the service, which needs no quotes in a shell. */
  url: string;
  token: string;
  client: string;
  executable: OwnExecutable | null;
}

export function connectScript({ url, token, client, executable }: Filled): string {
  return `#!/bin/sh
# Connects ${client} on this machine to Toolgate at ${url}. It is good for one use.
set -eu
umask 077

url='${url}'
client='${client}'
offered='${executable?.platform ?? ''}'
sha256='${executable?.sha256 ?? ''}'

fail() {
  printf 'toolgate: %s\\n' "$1" >&2
  exit 1
}

platform() {
  case "$(uname -s)" in
    Linux) os=linux ;;
    Darwin) os=darwin ;;
    *) os=$(uname -s) ;;
  esac
  case "$(uname -m)" in
    x86_64 | amd64) cpu=x64 ;;
    aarch64 | arm64) cpu=arm64 ;;
    *) cpu=$(uname -m) ;;
  esac
  printf '%s-%s' "$os" "$cpu"
}

digest() {
  if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

# The program to use: the service's own, or one that is installed.
install_program() {
  if [ "$(platform)" = "$offered" ]; then
    curl -fsS -H "@$work/header" -o "$work/toolgate" "$url/connect/toolgate"
    [ "$(digest "$work/toolgate")" = "$sha256" ] || fail 'What was downloaded is not what the service has. Nothing was installed.'
    mkdir -p "$HOME/.local/bin"
    chmod 755 "$work/toolgate"
    mv -f "$work/toolgate" "$HOME/.local/bin/toolgate"
    program=$HOME/.local/bin/toolgate
  else
    program=$(command -v toolgate) ||
      fail "The service has no executable for $(platform). Install Toolgate: clone it to a folder in which no agent works, run npm ci there, put its bin folder on PATH, and run this again within 15 minutes."
  fi
  "$program" --version >/dev/null || fail "$program does not run on this machine."
}

main() {
  [ -n "\${HOME:-}" ] || fail 'HOME is not set.'
  command -v curl >/dev/null || fail 'curl is missing.'
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  cat >"$work/header" <<'END'
Authorization: Bearer ${token}
END
  install_program
  host=$(uname -n | tr -cd 'A-Za-z0-9.-' | cut -c 1-60)
  key=$(curl -fsS -X POST -H "@$work/header" "$url/connect/key?host=\${host:-unknown}")
  TOOLGATE_API_KEY=$key TOOLGATE_BASE_URL=$url "$program" connect "$client" --yes
}

main
`;
}
