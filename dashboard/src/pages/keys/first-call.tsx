// Waits for the first call with a key, and shows it as soon as it was decided.

import { useEffect, useState } from 'preact/hooks';
import { get } from '../../api.ts';
import { DecisionBadge, Tool } from '../../components/text.tsx';
import { useLive } from '../../live.ts';
import type { AuditEntry } from '../../resources.ts';

export function FirstCall({ keyId }: { keyId: string }) {
  const [first, setFirst] = useState<AuditEntry | null>(null);
  const take = (entry: AuditEntry | undefined) => setFirst(before => before ?? entry ?? null);
  const look = () =>
    get<{ entries: AuditEntry[] }>('/audit', { keyId, limit: 1 }).then(
      ({ entries }) => take(entries[0]),
      () => {},
    );
  useLive({ verdict: entry => entry.keyId === keyId && take(entry), gap: look });
  useEffect(() => {
    look();
  }, [keyId]);
  return (
    <p class="first-call" role="status">
      {first === null ? (
        <>
          <span class="waits" aria-hidden="true" /> Waiting for the first call…
        </>
      ) : (
        <>
          <b aria-hidden="true">✓</b> The first call arrived:{' '}
          <Tool serverName={first.serverName} toolName={first.toolName} />{' '}
          <DecisionBadge decision={first.decision} />{' '}
          <a href={`/dashboard/audit?entry=${first.id}`}>audit entry</a>
        </>
      )}
    </p>
  );
}
