// What stands in place of the figures while there is no verdict: how to get one.

import { Command } from '../../components/command.tsx';
import { Panel } from '../../components/page.tsx';

export function NoVerdicts({ name }: { name: string }) {
  return (
    <Panel title={`No verdict in the ${name.toLowerCase()}`}>
      <p>
        Ask for one with a <a href="/dashboard/keys">key</a>, or let an MCP client speak to{' '}
        <code>{location.origin}/mcp</code>. The <a href="/docs">API reference</a> has the rest.
      </p>
      <Command text={COMMAND} />
    </Panel>
  );
}

const COMMAND = `curl ${location.origin}/v1/check \\
  -H "Authorization: Bearer $TOOLGATE_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"serverName": "github", "toolName": "get_issue"}'`;
