// Windsurf, of which Toolgate is only an MCP server.

import { type ClientFacts, everywhere } from './client.ts';
import { address, bearer, jsonFile, server } from './entries.ts';

export const windsurf: ClientFacts = {
  hooks: null,
  mcp: jsonFile('~/.codeium/windsurf/mcp_config.json', null, setup => [
    server({ serverUrl: address(setup), headers: bearer(setup, 'user', '') }),
  ]),
  windowsShell: 'cmd',
  fails: 'closed',
  about:
    'The tools behind Toolgate are judged; those of other servers, and its own, are not. It fails closed: without Toolgate there are no tools.',
  next: 'Press Refresh in the list of MCP servers of Windsurf.',
  folder: everywhere('~/.codeium/windsurf'),
  programs: ['windsurf'],
  moved: [],
};
