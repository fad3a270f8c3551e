// What the list of keys and the page of one key both show.

import { inWords, now } from '../../clock.ts';
import { Ago, Badge, Named } from '../../components/text.tsx';
import type { Key, Policy } from '../../resources.ts';

type Lifetime = Pick<Key, 'revokedAt' | 'expiresAt'>;

/** Whether a key is active, expired or revoked. */
export function KeyState({ of: { revokedAt, expiresAt } }: { of: Lifetime }) {
  if (revokedAt !== null) return <Badge tone="deny">revoked</Badge>;
  if (expiresAt !== null && Date.parse(expiresAt) <= now.value) return <Badge tone="deny">expired</Badge>;
  return <Badge tone="allow">active</Badge>;
}

const SOON_MS = 14 * 86_400_000;

/** When a key ends; marked if that is soon, because its agent stops working then. */
export function Expiry({ of: { revokedAt, expiresAt } }: { of: Lifetime }) {
  if (expiresAt === null) return <span class="soft">never</span>;
  const left = Date.parse(expiresAt) - now.value;
  if (left <= 0) return <Ago at={expiresAt} />;
  const isSoon = left < SOON_MS && revokedAt === null;
  return (
    <time dateTime={expiresAt} title={expiresAt} class={isSoon ? 'time soon' : 'time'}>
      {isSoon && 'soon: '}in {inWords(left)}
    </time>
  );
}

export function LastUse({ at }: { at: string | null }) {
  return at === null ? <span class="soft">never</span> : <Ago at={at} />;
}

/** How many tools of the key differ from what was accepted. */
export function DriftCount({ keyId, count }: { keyId: string; count: number }) {
  if (count === 0) return <span class="soft">none</span>;
  return (
    <a href={`/dashboard/keys/${keyId}`}>
      <Badge tone="pending">{count === 1 ? '1 tool' : `${count} tools`}</Badge>
    </a>
  );
}

export function PolicyLink({ id, policy }: { id: string; policy: Policy | undefined }) {
  return (
    <a href={`/dashboard/policies/${id}`}>
      <Named text={policy?.name ?? `${id.slice(0, 8)}…`} />
    </a>
  );
}
