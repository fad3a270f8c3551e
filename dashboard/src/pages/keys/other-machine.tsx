// A command that connects a client on another machine, which need not have Toolgate: it works once, for some minutes, and
// makes a key of its own with the same policy.

import { useState } from 'preact/hooks';
import { post } from '../../api.ts';
import { Command } from '../../components/command.tsx';
import { Problem } from '../../components/states.tsx';
import { Named, Time } from '../../components/text.tsx';
import { useAction } from '../../load.ts';
import type { ConnectTicket } from '../../resources.ts';

export function OtherMachine({ client, policyId }: { client: string; policyId: string }) {
  const { busy, error, run } = useAction();
  const [ticket, setTicket] = useState<ConnectTicket | null>(null);
  const make = () =>
    run(async () => setTicket(await post<ConnectTicket>('/connect-tickets', { client, policyId })));
  return (
    <div class="stack">
      <p>
        If it runs on another machine, or Toolgate is not installed there, one command brings the program
        along:{' '}
        <button type="button" class="plain small" disabled={busy} onClick={make}>
          Make a command for another machine
        </button>
      </p>
      <Problem error={error} />
      {ticket !== null && (
        <div>
          <Command text={ticket.command} />
          <p class="hint">
            It works once, until <Time at={ticket.expiresAt} />, and makes a key of its own with this policy.{' '}
            {ticket.platform === null ? (
              'This service has no executable to hand out: the command says what to install there.'
            ) : (
              <>
                The program is for <Named text={ticket.platform} />; elsewhere the command says what to
                install.
              </>
            )}
          </p>
        </div>
      )}
    </div>
  );
}
