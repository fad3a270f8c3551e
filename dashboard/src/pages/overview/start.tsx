// Instructions for an empty overview: from a key to the first verdict.

import { Command } from '../../components/command.tsx';
import { Panel } from '../../components/page.tsx';

export function Start({ name }: { name: string }) {
  return (
    <Panel title={`No verdict in the ${name.toLowerCase()}`}>
      <ol class="steps">
        <li>
          <b>A key for the agent.</b> The first start printed one; <a href="/dashboard/keys">Keys</a> makes
          more.
        </li>
        <li>
          <b>A policy for the key.</b> Its rules say which calls are allowed, denied, or wait for a person:{' '}
          <a href="/dashboard/policies">Policies</a>.
        </li>
        <li>
          <b>A call.</b> Ask for a verdict, or let an MCP client speak to <code>{location.origin}/mcp</code>.
          The <a href="/docs">API reference</a> has the rest.
          <Command text={COMMAND} />
        </li>
        <li>
          <b>People who answer.</b> Invite them under <a href="/dashboard/operators">Operators</a>; what waits
          for them is under <a href="/dashboard/approvals">Approvals</a>.
        </li>
      </ol>
    </Panel>
  );
}

const COMMAND = `curl ${location.origin}/v1/check \\
  -H "Authorization: Bearer $TOOLGATE_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"serverName": "github", "toolName": "get_issue"}'`;
