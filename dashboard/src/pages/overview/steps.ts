// Which of the first steps are done. They are read by requests for one or two rows each; live events tick the steps that
// they are about.

import { useState } from 'preact/hooks';
import { useLive } from '../../live.ts';
import { useList } from '../../load.ts';
import type { AuditEntry, Key, ListedApproval, Policy, Session, Webhook } from '../../resources.ts';

export type StepId = 'operator' | 'policy' | 'key' | 'client' | 'call' | 'approval' | 'webhook';

const ONE = { limit: 1 };

/** The steps that are done; null while that is not known. */
export function useSteps(): ReadonlySet<StepId> | null {
  const policies = useList<Policy>('/policies', 'policies', { limit: 2 });
  const keys = useList<Key>('/keys', 'keys', { limit: 10 });
  const sessions = useList<Session>('/sessions', 'sessions', ONE);
  const entries = useList<AuditEntry>('/audit', 'entries', ONE);
  const approved = useList<ListedApproval>('/approvals', 'approvals', { ...ONE, status: 'approved' });
  const denied = useList<ListedApproval>('/approvals', 'approvals', { ...ONE, status: 'denied' });
  const webhooks = useList<Webhook>('/webhooks', 'webhooks', ONE);
  const [seen, setSeen] = useState<ReadonlySet<StepId>>(new Set());
  const tick = (...steps: StepId[]) => setSeen(before => new Set([...before, ...steps]));
  const lists = [policies, keys, sessions, entries, approved, denied, webhooks];
  useLive({
    verdict: () => seen.has('call') || tick('call', 'client'),
    approval: ({ status }) => (status === 'approved' || status === 'denied') && tick('approval'),
    gap: () => {
      for (const { reload } of lists) reload();
    },
  });
  if (lists.some(({ data }) => data === undefined)) return null;
  const called = isAny(entries);
  const done: Record<StepId, boolean> = {
    operator: true,
    // The first start makes a policy, whose first version nobody chose.
    policy: (policies.data ?? []).length > 1 || (policies.data ?? []).some(({ version }) => version > 1),
    key: (keys.data ?? []).some(({ revokedAt }) => revokedAt === null),
    client: called || isAny(sessions),
    call: called,
    approval: isAny(approved) || isAny(denied),
    webhook: isAny(webhooks),
  };
  return new Set([...(Object.keys(done) as StepId[]).filter(step => done[step]), ...seen]);
}

const isAny = ({ data = [] }: { data: readonly unknown[] | undefined }): boolean => data.length > 0;
