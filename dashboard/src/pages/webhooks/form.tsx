// The forms for a new webhook and for changing one.

import { useEffect } from 'preact/hooks';
import { visible } from '../../../../src/core/text/visible.ts';
import { announce } from '../../announce.ts';
import { patch, post } from '../../api.ts';
import { FormDialog } from '../../components/dialog.tsx';
import { Field } from '../../components/field.tsx';
import { keys, loadKeys } from '../../names.ts';
import type { Webhook, WebhookWithSecret } from '../../resources.ts';

const EVENTS = [
  ['approval.created', 'A call waits for approval'],
  ['approval.resolved', 'A waiting call is answered, or nobody answered'],
] as const;

interface NewWebhookProps {
  open: boolean;
  onClose: () => void;
  onMade: (webhook: WebhookWithSecret) => void;
}

export function NewWebhook({ open, onClose, onMade }: NewWebhookProps) {
  const make = async (form: FormData) => onMade(await post<WebhookWithSecret>('/webhooks', webhookIn(form)));
  return (
    <FormDialog title="New webhook" open={open} onClose={onClose} action="Register" submit={make}>
      <Fields />
    </FormDialog>
  );
}

interface ChangeWebhookProps {
  of: Webhook;
  open: boolean;
  onClose: () => void;
  onChanged: () => void;
}

export function ChangeWebhook({ of: current, open, onClose, onChanged }: ChangeWebhookProps) {
  const change = async (form: FormData) => {
    await patch(`/webhooks/${current.id}`, webhookIn(form));
    announce('Saved.');
    onChanged();
  };
  return (
    <FormDialog title="Change the webhook" open={open} onClose={onClose} action="Save" submit={change}>
      <Fields current={current} />
    </FormDialog>
  );
}

function webhookIn(form: FormData) {
  const events = form.getAll('events').map(String);
  if (events.length === 0) throw new Error('Choose at least one kind of event.');
  return { url: String(form.get('url')), keyId: String(form.get('keyId')) || null, events };
}

function Fields({ current }: { current?: Webhook }) {
  useEffect(() => {
    loadKeys().catch(() => {});
  }, []);
  return (
    <>
      <Field label="Address" hint="Events are sent there by POST, and signed.">
        {ties => (
          <input
            {...ties}
            name="url"
            type="url"
            required
            placeholder="https://example.com/toolgate"
            defaultValue={current?.url}
          />
        )}
      </Field>
      <Field label="Hears of">
        {ties => (
          <select {...ties} name="keyId">
            <option value="">Every key</option>
            {keys.value
              .filter(key => key.revokedAt === null || key.id === current?.keyId)
              .map(({ id, name }) => (
                <option key={id} value={id} selected={id === current?.keyId}>
                  {visible(name)}
                </option>
              ))}
          </select>
        )}
      </Field>
      <fieldset class="choices">
        <legend>Events</legend>
        {EVENTS.map(([type, words]) => (
          <label key={type} class="check">
            <input
              type="checkbox"
              name="events"
              value={type}
              defaultChecked={current?.events.includes(type) ?? true}
            />
            <span>
              {words} <code class="soft">{type}</code>
            </span>
          </label>
        ))}
      </fieldset>
    </>
  );
}
