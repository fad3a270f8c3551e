// What the list of keys and the page of one key both show.

import { Badge, Named, Time } from '../../components/text.tsx';
import type { Key, Policy } from '../../resources.ts';

/** Whether a key is active, expired or revoked. */
export function KeyState({ of: { revokedAt, expiresAt } }: { of: Key }) {
  if (revokedAt !== null) return <Badge tone="deny">revoked</Badge>;
  if (expiresAt === null) return <Badge tone="allow">active</Badge>;
  if (Date.parse(expiresAt) <= Date.now()) return <Badge tone="deny">expired</Badge>;
  return (
    <span>
      <Badge tone="allow">active</Badge>{' '}
      <span class="soft">
        until <Time at={expiresAt} />
      </span>
    </span>
  );
}

export function PolicyLink({ id, policy }: { id: string; policy: Policy | undefined }) {
  return (
    <a href={`/dashboard/policies/${id}`}>
      <Named text={policy?.name ?? `${id.slice(0, 8)}…`} />
    </a>
  );
}
