// Our sign-in to a server that wants OAuth, for a key or for one person: its state, and the buttons that begin and end it.
// The person signs in at the server's own pages, and comes back to the page that they left.

import { announce } from '../announce.ts';
import { post, remove } from '../api.ts';
import { useAction } from '../load.ts';
import type { ServerSignIn } from '../resources.ts';
import { Confirm } from './dialog.tsx';
import { Problem } from './states.tsx';
import { Badge, Named, Time } from './text.tsx';

export function SignInState({ of: { state, as, until, error } }: { of: ServerSignIn }) {
  if (state === 'signed_in')
    return (
      <p>
        <Badge tone="allow">signed in</Badge>
        {as !== null && (
          <>
            {' as '}
            <Named text={as} />
          </>
        )}
        {until !== null && (
          <>
            , until <Time at={until} />
          </>
        )}
      </p>
    );
  return (
    <p>
      {state === 'ended' ? (
        <>
          <Badge tone="deny">ended</Badge> Sign in again.
        </>
      ) : (
        <Badge tone="pending">sign in needed</Badge>
      )}
      {error !== null && (
        <span class="failed">
          {' '}
          <Named text={error} />
        </span>
      )}
    </p>
  );
}

interface SignInActionsProps {
  /** The server, for messages. */
  name: string;
  of: ServerSignIn;
  /** The path to which a POST begins a sign-in. */
  connect: string;
  /** The path to which a DELETE ends it. */
  signOut: string;
  onSignedOut: () => void;
  /** What ends with it. */
  consequence: string;
}

export function SignInActions({ name, of, connect, signOut, onSignedOut, consequence }: SignInActionsProps) {
  const { busy, error, run } = useAction();
  const begin = () =>
    run(async () => {
      const { url } = await post<{ url: string }>(connect);
      location.assign(url);
    });
  const end = async () => {
    await remove(signOut);
    announce(`Signed out: ${name}`);
    onSignedOut();
  };
  return (
    <>
      <Problem error={error} />
      <button
        type="button"
        class={of.state === 'signed_in' ? 'plain small' : 'small'}
        disabled={busy}
        onClick={begin}
      >
        {of.state === 'needed' ? 'Connect' : 'Sign in again'}
      </button>
      {of.state === 'signed_in' && (
        <Confirm label="Sign out" title={`Sign out of ${name}?`} run={end}>
          {consequence}
        </Confirm>
      )}
    </>
  );
}
