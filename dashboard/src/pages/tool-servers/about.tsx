// The facts about a tool server: whether it answers, how it is reached, what it is confined to, and the trust in it.

import type { ComponentChildren } from 'preact';
import { Facts, Panel } from '../../components/page.tsx';
import { SignInState } from '../../components/server-sign-in.tsx';
import { Id, Named, Time } from '../../components/text.tsx';
import type { ToolServer } from '../../resources.ts';
import { mayAdminister } from '../../session.ts';
import { type Found, foundWords } from '../keys/contact.ts';
import { Declared, Enforced } from './command.tsx';
import { ServerState } from './parts.tsx';
import { TrustShown } from './trust.tsx';

type Fact = [string, ComponentChildren];

export function About({ of: server, found }: { of: ToolServer; found: Found | undefined }) {
  const facts: Fact[] = [
    ['State', <State key="" of={server} found={found} />],
    ['Trust', <TrustShown key="" of={server.trust} />],
    ...(server.transport === 'stdio' ? commandFacts(server) : networkFacts(server)),
    ['Added', <Time key="" at={server.createdAt} />],
    ...(server.updatedAt === null ? [] : [['Changed', <Time key="" at={server.updatedAt} />] as Fact]),
    ['Id', <Id key="" id={server.id} />],
  ];
  return (
    <Panel title="About it">
      <Facts facts={facts} />
    </Panel>
  );
}

function State({ of: server, found }: { of: ToolServer; found: Found | undefined }) {
  return (
    <div class="lines">
      <ServerState of={server} />
      <p role="status" class={found !== undefined && found !== 'asked' && !found.ok ? 'failed' : undefined}>
        {found === 'asked' && 'It is being contacted…'}
        {found !== undefined && found !== 'asked' && <Named text={foundWords(found)} />}
      </p>
      {found === undefined && server.health.error !== null && (
        <p class="failed">
          <Named text={server.health.error} />
        </p>
      )}
    </div>
  );
}

function networkFacts({ transport, url, hasHeaders, namesCalls, oauth, signIn }: ToolServer): Fact[] {
  return [
    [
      'Address',
      <span key="" class="lines">
        <Named text={url ?? ''} />
        <span class="hint">
          {transport === 'sse' ? 'HTTP with server-sent events' : 'Streamable HTTP'}
          {hasHeaders && ', with headers of its own, which are not shown'}
          {namesCalls && '; each call carries an Idempotency-Key'}
        </span>
      </span>,
    ],
    ...(oauth === null
      ? []
      : [
          [
            'Sign-in',
            signIn === null ? (
              'Everybody signs in to it for themselves.'
            ) : (
              <div key="">
                <SignInState of={signIn} />
                <p class="hint">Calls of all keys act at the server with the account of this sign-in.</p>
              </div>
            ),
          ] as Fact,
        ]),
  ];
}

function commandFacts({ server, sandbox }: ToolServer): Fact[] {
  return [
    [
      'Command',
      <div key="" class="lines">
        <code>
          <Named text={server ?? ''} />
        </code>
        {mayAdminister.value && <Declared name={server ?? ''} />}
      </div>,
    ],
    ['Confined', <Enforced key="" of={sandbox} />],
  ];
}
