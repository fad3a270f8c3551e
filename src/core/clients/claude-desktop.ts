// Claude Desktop, which has no hooks.

import type { ClientFacts } from './client.ts';
import { address, server, XDG } from './entries.ts';

const desktopFolder = {
  linux: '~/.config/Claude',
  macos: '~/Library/Application Support/Claude',
  windows: '%APPDATA%/Claude',
};

export const claudeDesktop: ClientFacts = {
  hooks: null,
  mcp: {
    format: 'json',
    user: {
      linux: `${desktopFolder.linux}/claude_desktop_config.json`,
      macos: `${desktopFolder.macos}/claude_desktop_config.json`,
      windows: `${desktopFolder.windows}/claude_desktop_config.json`,
    },
    project: null,
    // Its file has no headers for servers on the network, so mcp-remote makes the connection. It accepts no space after
    // the colon.
    entries: setup => [
      server({
        command: 'npx',
        args: [
          '-y',
          'mcp-remote',
          address(setup),
          '--transport',
          'http-only',
          ...(mayBePlain(setup.baseUrl) ? [] : ['--allow-http']),
          '--header',
          // biome-ignore lint/suspicious/noTemplateCurlyInString: mcp-remote replaces it
          'Authorization:${TOOLGATE_AUTH}',
        ],
        env: { TOOLGATE_AUTH: `Bearer ${setup.key}` },
      }),
    ],
  },
  windowsShell: 'cmd',
  fails: 'closed',
  about:
    'The tools behind Toolgate are judged; those of other servers in the same file are not. It fails closed: without Toolgate there are no tools. It needs Node, for mcp-remote.',
  next: 'Quit Claude Desktop, and start it again.',
  folder: desktopFolder,
  programs: [],
  moved: [XDG],
};

/** Whether mcp-remote connects to this address without being told that it need not be encrypted. */
function mayBePlain(baseUrl: string): boolean {
  const { protocol, hostname } = new URL(baseUrl);
  return (
    protocol === 'https:' || hostname === 'localhost' || hostname === '127.0.0.1' || hostname === '[::1]'
  );
}
