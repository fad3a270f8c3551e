// How each client is connected with a new key: the command that does it, or what to put into which file.

import type { Client, ConfigFile, Platform, Setup } from '../../../../src/core/clients/client.ts';
import { CLIENTS } from '../../../../src/core/clients/clients.ts';
import { hookCommand, tellingCommand } from '../../../../src/core/clients/command.ts';
import { configurationOf } from '../../../../src/core/clients/written.ts';
import { Command } from '../../components/command.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { OtherMachine } from './other-machine.tsx';

/** `policyId` is the policy of the key. */
export function Clients({ secret, policyId }: { secret: string; policyId: string }) {
  const tabs = CLIENTS.map(client => ({
    id: client.id,
    name: client.name,
    content: () => <OneClient key={client.id} of={client} secret={secret} policyId={policyId} />,
  }));
  return <Tabs label="Clients" tabs={tabs} />;
}

interface OneClientProps {
  of: Client;
  secret: string;
  policyId: string;
}

function OneClient({ of: client, secret, policyId }: OneClientProps) {
  const platform = platformOf(navigator.userAgent);
  const shell = platform === 'windows' ? client.windowsShell : 'sh';
  const setup: Setup = {
    baseUrl: location.origin,
    key: secret,
    command: client.hooks === null ? '' : hookCommand(['toolgate'], client.id, shell),
    telling: client.hooks === null ? '' : tellingCommand(['toolgate'], client.id, shell),
  };
  return (
    <>
      <p>{client.about}</p>
      <p>On the machine where it runs, this shows the change first, and then makes it:</p>
      <Command text={connectCommand(client, secret, platform)} />
      <OtherMachine client={client.id} policyId={policyId} />
      <details class="by-hand">
        <summary>Or by hand</summary>
        <div class="stack">
          {client.hooks !== null && (
            <>
              <File of={client.hooks} setup={setup} platform={platform} />
              <p>
                The hook reads the key from <code>TOOLGATE_API_KEY</code> and the address from{' '}
                <code>TOOLGATE_BASE_URL</code>. If <code>toolgate</code> is not on the client’s{' '}
                <code>PATH</code>, put its full path.
              </p>
            </>
          )}
          <File of={client.mcp} setup={setup} platform={platform} />
        </div>
      </details>
      <p class="soft">{client.next}</p>
    </>
  );
}

function File({ of: file, setup, platform }: { of: ConfigFile; setup: Setup; platform: Platform }) {
  return (
    <div>
      <p>
        In <code>{file.user[platform]}</code>:
      </p>
      <Command text={configurationOf(file, setup, 'user').trimEnd()} label="Copy the configuration" />
    </div>
  );
}

/** The key is in the environment and not an argument, since others on the machine can read those. */
function connectCommand({ id }: Client, secret: string, platform: Platform): string {
  const connect = `toolgate connect ${id} --base-url ${location.origin}`;
  if (platform === 'windows') return `$env:TOOLGATE_API_KEY = '${secret}'\n${connect}`;
  return `TOOLGATE_API_KEY=${secret} \\\n  ${connect}`;
}

function platformOf(userAgent: string): Platform {
  if (userAgent.includes('Windows')) return 'windows';
  return userAgent.includes('Mac OS') ? 'macos' : 'linux';
}
