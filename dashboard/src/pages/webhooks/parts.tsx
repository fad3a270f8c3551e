// What the list of webhooks and the page of one webhook both show.

import { Once } from '../../components/once.tsx';
import { Badge } from '../../components/text.tsx';
import type { Webhook } from '../../resources.ts';

export function WebhookState({ of: { enabled, disabledReason, failures } }: { of: Webhook }) {
  if (enabled && failures > 0)
    return (
      <span>
        <Badge tone="deny">failing</Badge>{' '}
        <span class="failure">
          {failures === 1 ? 'The last attempt failed.' : `The last ${failures} attempts failed.`}
        </span>
      </span>
    );
  if (enabled) return <Badge tone="allow">on</Badge>;
  return (
    <span>
      <Badge tone="deny">off</Badge> <span class="soft">{disabledReason}</span>
    </span>
  );
}

export function SecretOnce({ secret, onClose }: { secret: string | null; onClose: () => void }) {
  return (
    <Once title="The webhook’s secret" name="secret" secret={secret} onClose={onClose}>
      Its receiver checks with it that events come from here (Standard Webhooks). Copy it now: it is stored
      encrypted and never shown again.
    </Once>
  );
}
