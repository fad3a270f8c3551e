// Whether something is sent to others successfully, and the last error, for the pages about notifications and shipping.

import { Ago, Badge, Named, type Tone } from './text.tsx';

type State = 'ok' | 'failing' | 'unused';

const STATES: Record<State, [Tone, string]> = {
  ok: ['allow', 'works'],
  failing: ['deny', 'failing'],
  unused: ['plain', 'not used yet'],
};

export function SendingState({ of: { state } }: { of: { state: State } }) {
  const [tone, words] = STATES[state];
  return <Badge tone={tone}>{words}</Badge>;
}

export function LastError({
  of: { lastError, lastErrorAt },
}: {
  of: { lastError: string | null; lastErrorAt: string | null };
}) {
  if (lastError === null || lastErrorAt === null) return <>none</>;
  return (
    <div>
      <Named text={lastError} />, <Ago at={lastErrorAt} />
    </div>
  );
}
