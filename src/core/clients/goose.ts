// Goose, of which Toolgate is only an MCP server.

import type { ClientFacts } from './client.ts';
import { address, bearer, SERVER, XDG } from './entries.ts';

export const goose: ClientFacts = {
  hooks: null,
  mcp: {
    format: 'yaml',
    user: {
      linux: '~/.config/goose/config.yaml',
      macos: '~/.config/goose/config.yaml',
      windows: '%APPDATA%/Block/goose/config/config.yaml',
    },
    project: null,
    entries: setup => [
      {
        at: ['extensions', SERVER],
        how: 'set',
        value: {
          enabled: true,
          type: 'streamable_http',
          name: SERVER,
          description: 'The tools behind Toolgate',
          uri: address(setup),
          envs: {},
          env_keys: [],
          headers: bearer(setup, 'user', ''),
          timeout: 300,
          bundled: false,
          available_tools: [],
        },
      },
    ],
  },
  windowsShell: 'cmd',
  fails: 'closed',
  about:
    'The tools behind Toolgate are judged; those of other extensions, and its own, are not. It fails closed: without Toolgate there are no tools.',
  next: 'Start a new session of Goose.',
  folder: {
    linux: '~/.config/goose',
    macos: '~/.config/goose',
    windows: '%APPDATA%/Block/goose/config',
  },
  programs: ['goose'],
  moved: [XDG],
};
