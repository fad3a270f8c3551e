// toolgate webhooks: subscriptions to events about approvals, and their deliveries. A new secret is printed once, alone
// on stdout.

import { type Command, Option } from 'commander';
import type { Delivery, Webhook, WebhookTest, WebhookWithSecret } from '../../core/api/resources.ts';
import { EVENT_TYPES } from '../../core/approvals/event.ts';
import { visible } from '../../core/text/visible.ts';
import { keyId, keyNames } from '../admin.ts';
import { EXIT, usageError } from '../exit.ts';
import { command, group } from '../help.ts';
import type { Http } from '../http.ts';
import { type IO, say } from '../io.ts';
import { type ListOptions, printList, withList } from '../list.ts';
import { printJson, time, word } from '../print.ts';
import { type AdminOptions, asAdmin, withAdmin } from '../service-options.ts';

const ID = '01890000-0000-7000-8000-000000000000';

export function build(io: IO): Command {
  return group(
    'webhooks',
    'Webhooks that receive events about approvals, and their deliveries.',
    ['toolgate webhooks create https://example.com/toolgate', `toolgate webhooks deliveries ${ID}`],
    [
      listCommand(io),
      createCommand(io),
      updateCommand(io),
      deleteCommand(io),
      rotateCommand(io),
      testCommand(io),
      deliveriesCommand(io),
      redeliverCommand(io),
    ],
  );
}

interface Fields extends AdminOptions {
  url?: string;
  forKey?: string;
  events?: string[];
  enable?: boolean;
  disable?: boolean;
}

function listCommand(io: IO): Command {
  const made = command('list', 'List webhooks, newest first.', ['toolgate webhooks list --json']);
  return withAdmin(withList(made)).action(async (options: AdminOptions & ListOptions) => {
    const http = asAdmin(io, options);
    const keys = options.json ? new Map<string, string>() : await keyNames(http);
    await printList<Webhook>(io, http, options, {
      path: '/webhooks',
      plural: 'webhooks',
      nothing: 'There are no webhooks.',
      columns: [
        ['ID', hook => hook.id],
        ['URL', hook => visible(hook.url)],
        ['KEY', hook => (hook.keyId === null ? 'all' : visible(keys.get(hook.keyId) ?? hook.keyId))],
        ['EVENTS', hook => hook.events.join(', ')],
        ['STATE', hook => (hook.enabled ? 'on' : `off: ${visible(hook.disabledReason ?? '')}`)],
      ],
    });
  });
}

function withFields(made: Command): Command {
  return made
    .option('--for-key <key>', 'only events of this key, by name or id; all for every key')
    .addOption(new Option('--events <event...>', 'which events').choices(EVENT_TYPES));
}

async function body(http: Http, { url, forKey, events }: Fields): Promise<Record<string, unknown>> {
  const key = forKey === undefined ? undefined : forKey === 'all' ? null : await keyId(http, forKey);
  return {
    ...(url === undefined ? {} : { url }),
    ...(key === undefined ? {} : { keyId: key }),
    ...(events === undefined ? {} : { events }),
  };
}

function createCommand(io: IO): Command {
  const examples = [
    'toolgate webhooks create https://example.com/toolgate',
    'toolgate webhooks create https://example.com/toolgate --for-key ci --events approval.resolved',
  ];
  const made = command('create', 'Register a webhook. Its secret is printed this once.', examples);
  return withAdmin(withFields(made.argument('<url>', 'where events are sent, by POST'))).action(
    async (url: string, options: Fields) => {
      const http = asAdmin(io, options);
      const made = await http.post<WebhookWithSecret>('/webhooks', await body(http, { ...options, url }));
      if (options.json) return printJson(io, made);
      io.stdout.write(`${made.secret}\n`);
      say(io, `Webhook ${made.id} is registered. Its secret is shown this once.`);
    },
  );
}

function updateCommand(io: IO): Command {
  const examples = [
    `toolgate webhooks update ${ID} --url https://example.com/new`,
    `toolgate webhooks update ${ID} --enable`,
  ];
  const made = command('update', 'Change a webhook, or switch it on or off.', examples)
    .argument('<id>', 'as listed')
    .option('--url <url>', 'where events are sent from now on')
    .option('--enable', 'switch it on')
    .addOption(new Option('--disable', 'switch it off').conflicts('enable'));
  return withAdmin(withFields(made)).action(async (id: string, options: Fields) => {
    const http = asAdmin(io, options);
    const changes = await body(http, options);
    if (options.enable || options.disable) changes['enabled'] = options.enable === true;
    if (Object.keys(changes).length === 0)
      throw usageError('Nothing to change; see toolgate webhooks update --help.');
    const hook = await http.patch<Webhook>(at(id), changes);
    if (options.json) return printJson(io, hook);
    say(io, `Webhook ${hook.id} is changed: ${Object.keys(changes).join(', ')}.`);
  });
}

function at(id: string): string {
  return `/webhooks/${encodeURIComponent(id)}`;
}

function deleteCommand(io: IO): Command {
  const made = command('delete', 'Delete a webhook.', [`toolgate webhooks delete ${ID}`]);
  return withAdmin(made.argument('<id>', 'as listed')).action(async (id: string, options: AdminOptions) => {
    await asAdmin(io, options).delete(at(id));
    if (options.json) return printJson(io, { id, deleted: true });
    say(io, `Webhook ${id} is deleted.`);
  });
}

function rotateCommand(io: IO): Command {
  const what =
    'Give a webhook a new secret, printed this once; for 24 hours the old one signs events as well.';
  const made = command('rotate-secret', what, [`toolgate webhooks rotate-secret ${ID}`]);
  return withAdmin(made.argument('<id>', 'as listed')).action(async (id: string, options: AdminOptions) => {
    const hook = await asAdmin(io, options).post<WebhookWithSecret>(`${at(id)}/rotate-secret`);
    if (options.json) return printJson(io, hook);
    io.stdout.write(`${hook.secret}\n`);
    say(io, `Webhook ${id} has a new secret. It is shown this once.`);
  });
}

function testCommand(io: IO): Command {
  const what = 'Send a signed event of type webhook.test now, and see what the receiver answers.';
  const made = command('test', what, [`toolgate webhooks test ${ID}`]).argument('<id>', 'as listed');
  return withAdmin(made).action(async (id: string, options: AdminOptions) => {
    const attempt = await asAdmin(io, options).post<WebhookTest>(`${at(id)}/test`);
    if (options.json) printJson(io, attempt);
    else say(io, `The receiver ${answer(attempt)} after ${attempt.durationMs} ms.`);
    io.exit(attempt.error === null ? EXIT.ok : EXIT.failed);
  });
}

function answer({ status, error }: WebhookTest): string {
  if (error === null) return `accepted it (${status})`;
  return status === null ? `gave no answer (${error})` : `refused it (${status}: ${error})`;
}

function deliveriesCommand(io: IO): Command {
  const made = command('deliveries', 'List a webhook’s deliveries, newest first.', [
    `toolgate webhooks deliveries ${ID}`,
  ]);
  return withAdmin(withList(made.argument('<id>', 'the webhook, as listed'))).action(
    (id: string, options: AdminOptions & ListOptions) =>
      printList<Delivery>(io, asAdmin(io, options), options, {
        path: `${at(id)}/deliveries`,
        plural: 'deliveries',
        nothing: 'There are no deliveries.',
        columns: [
          ['ID', delivery => delivery.id],
          ['EVENT', delivery => visible(delivery.type)],
          ['REFERENCE', delivery => delivery.referenceId],
          ['STATUS', (delivery, output) => word(output, delivery.status)],
          ['ATTEMPTS', delivery => String(delivery.attempts.length)],
          ['LAST', lastAttempt],
          ['NEXT', delivery => time(delivery.nextAttemptAt)],
        ],
      }),
  );
}

function lastAttempt({ attempts }: Delivery): string {
  const last = attempts.at(-1);
  return last === undefined ? '-' : visible(last.error ?? String(last.status));
}

function redeliverCommand(io: IO): Command {
  const made = command('redeliver', 'Deliver again, from the start of the schedule.', [
    `toolgate webhooks redeliver ${ID}`,
  ]).argument('<deliveryId>', 'as webhooks deliveries lists it');
  return withAdmin(made).action(async (id: string, options: AdminOptions) => {
    await asAdmin(io, options).post(`/deliveries/${encodeURIComponent(id)}/redeliver`);
    if (options.json) return printJson(io, { id, redelivering: true });
    say(io, `Delivery ${id} is tried again at once.`);
  });
}
