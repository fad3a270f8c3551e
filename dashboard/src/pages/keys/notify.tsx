// Where a key's approval links are sent: through the service's own channels, through named channels, or to targets of the
// key. URLs of notifiers are secrets that the API masks, so a change either gives them again or leaves them unchanged.

import { useState } from 'preact/hooks';
import { Field } from '../../components/field.tsx';
import { Named } from '../../components/text.tsx';
import { useGet } from '../../load.ts';
import type { Key, Settings } from '../../resources.ts';

type Notify = NonNullable<Key['notify']>;
type Targets = Exclude<Notify, string[]>;

const CHOICES = {
  keep: 'Leave as they are',
  service: 'The service’s own channels',
  named: 'Channels by name',
  own: 'Channels of this key',
} as const;
type Choice = keyof typeof CHOICES;

export function NotifyFields({ current }: { current?: Key }) {
  const [choice, setChoice] = useState<Choice>(current === undefined ? 'service' : 'keep');
  const offered = (Object.keys(CHOICES) as Choice[]).filter(each => each !== 'keep' || current !== undefined);
  return (
    <>
      <Field label="Approval links go by">
        {ties => (
          <select
            {...ties}
            name="channels"
            value={choice}
            onChange={event => setChoice(event.currentTarget.value as Choice)}
          >
            {offered.map(each => (
              <option key={each} value={each}>
                {CHOICES[each]}
              </option>
            ))}
          </select>
        )}
      </Field>
      {choice === 'named' && <ChannelNames chosen={namesIn(current?.notify ?? null)} />}
      {choice === 'own' && (
        <>
          <Field label="E-mail to" hint="Several with commas.">
            {ties => <input {...ties} name="emails" autocomplete="off" />}
          </Field>
          <Field label="Slack webhook">{ties => <input {...ties} name="slackWebhookUrl" type="url" />}</Field>
          <Field label="Notifier" hint="Gets each link as a JSON POST.">
            {ties => <input {...ties} name="url" type="url" />}
          </Field>
        </>
      )}
    </>
  );
}

function namesIn(notify: Key['notify']): readonly string[] {
  return Array.isArray(notify) ? notify : [];
}

/** `default` stands for the service's own settings. A channel that was removed from the file is no longer offered. */
function ChannelNames({ chosen }: { chosen: readonly string[] }) {
  const { data } = useGet<Settings>('/settings');
  const offered = [{ name: 'default', type: 'the service’s own' }, ...(data?.channels ?? [])];
  return (
    <fieldset class="choices">
      <legend>Channels</legend>
      {offered.map(({ name, type }) => (
        <label key={name} class="check">
          <input type="checkbox" name="named" value={name} defaultChecked={chosen.includes(name)} />
          <span>
            {name} <span class="soft">{type}</span>
          </span>
        </label>
      ))}
      <p class="hint">
        Declared under <code>channels</code> in <code>toolgate.yaml</code>.
      </p>
    </fieldset>
  );
}

/** The values of the fields; empty when the channels are left as they are. */
export function notifyIn(form: FormData): { notify?: Notify | null } {
  const choice = form.get('channels');
  if (choice === 'keep') return {};
  if (choice === 'service') return { notify: null };
  if (choice === 'named') {
    const notify = form.getAll('named').map(String);
    if (notify.length === 0) throw new Error('Choose at least one channel.');
    return { notify };
  }
  const text = (name: string) => String(form.get(name) ?? '').trim();
  const emails = text('emails')
    .split(',')
    .map(each => each.trim());
  const targets: Targets = {
    ...(text('emails') === '' ? {} : { emails }),
    ...(text('slackWebhookUrl') === '' ? {} : { slackWebhookUrl: text('slackWebhookUrl') }),
    ...(text('url') === '' ? {} : { url: text('url') }),
  };
  if (Object.keys(targets).length === 0) throw new Error('Name at least one channel of this key.');
  return { notify: targets };
}

export function NotifyShown({ of: targets }: { of: Key['notify'] }) {
  if (targets === null) return <span>by the service’s own channels</span>;
  if (Array.isArray(targets)) return <Named text={`by ${targets.join(', ')}`} />;
  const ways = [
    ...(targets.emails ?? []),
    ...(targets.slackWebhookUrl ? [`Slack (${targets.slackWebhookUrl})`] : []),
    ...(targets.url ? [targets.url] : []),
  ];
  return <Named text={`to ${ways.join(', ')}`} />;
}
