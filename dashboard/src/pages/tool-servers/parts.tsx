// What the list of tool servers and the page of one both show.

import { Badge, type Tone } from '../../components/text.tsx';
import type { Server } from '../../resources.ts';

const HEALTH: Record<Server['health']['state'], [Tone, string]> = {
  idle: ['plain', 'not connected now'],
  ready: ['allow', 'connected'],
  down: ['deny', 'down'],
};

/** Without a sign-in there is no connection whose state could be shown. */
export function ServerState({ of: { health, signIn } }: { of: Server }) {
  if (signIn !== null && signIn.state !== 'signed_in') return <Badge tone="pending">sign in needed</Badge>;
  const [tone, word] = HEALTH[health.state];
  return <Badge tone={tone}>{word}</Badge>;
}
