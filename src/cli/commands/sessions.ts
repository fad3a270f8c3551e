// toolgate sessions: short-lived credentials. A key makes, lists and revokes its own; an admin token gives access to
// those of every key.

import type { Command } from 'commander';
import type { NewSession, OwnSession, Session } from '../../core/api/resources.ts';
import { scopeFault } from '../../core/text/name.ts';
import { visible } from '../../core/text/visible.ts';
import { keyNames, pastKeyId } from '../admin.ts';
import { readAttributes } from '../call-args.ts';
import { usageError } from '../exit.ts';
import { command, group } from '../help.ts';
import { type IO, say } from '../io.ts';
import { type ListOptions, printList, wholeNumber, withList } from '../list.ts';
import { type Column, printJson, printTable, time } from '../print.ts';
import {
  type AdminOptions,
  actsAsKey,
  asAdmin,
  asKey,
  type KeyOptions,
  withKey,
  withKeyOrAdmin,
} from '../service-options.ts';

const MAX_MINUTES = 1440;

export function build(io: IO): Command {
  return group(
    'sessions',
    'Short-lived credentials for one run, made from a key.',
    ['toolgate sessions create --label nightly --ttl 30', 'toolgate sessions list'],
    [createCommand(io), listCommand(io), revokeCommand(io)],
  );
}

interface CreateOptions extends KeyOptions {
  label?: string;
  ttl?: number;
  scope?: string[];
  known?: string[];
  attributes?: string;
}

function createCommand(io: IO): Command {
  const examples = [
    'toolgate sessions create --label nightly --ttl 30',
    'toolgate sessions create --scope github__get_issue github__add_comment',
    `toolgate sessions create --known ann@example.com --attributes '{"customer": "c_17"}'`,
  ];
  const made = command('create', 'Make a session of the key. Its token is printed this once.', examples)
    .option('--label <label>', 'a label for the session')
    .option(
      '--ttl <minutes>',
      `minutes it lives, at most ${MAX_MINUTES}; 60 when left out`,
      wholeNumber(MAX_MINUTES),
    )
    .option('--scope <tool...>', 'full names of the only tools it may call')
    .option('--known <text...>', 'texts whose values are known in its run: see known() in conditions')
    .option('--attributes <json>', 'what conditions see as session.attributes, a JSON object');
  return withKey(made).action(async (options: CreateOptions) => {
    for (const name of options.scope ?? []) {
      const fault = scopeFault(name);
      if (fault !== null) throw usageError(`--scope: "${visible(name)}" ${fault}.`);
    }
    const { label, ttl: ttlMinutes, scope: scopeTools, known } = options;
    const attributes = options.attributes === undefined ? undefined : readAttributes(options.attributes);
    const session = await asKey(io, options).post<NewSession>('/sessions', {
      label,
      ttlMinutes,
      scopeTools,
      known,
      attributes,
    });
    if (options.json) return printJson(io, session);
    io.stdout.write(`${session.token}\n`);
    say(io, `Session ${session.id} lives until ${time(session.expiresAt)}. Its token is shown this once.`);
  });
}

const COLUMNS: Column<OwnSession>[] = [
  ['ID', session => session.id],
  ['LABEL', session => visible(session.label) || '-'],
  ['TOKEN', session => `${session.prefix}…`],
  ['SCOPE', scope],
  ['CREATED', session => time(session.createdAt)],
  ['EXPIRES', session => time(session.expiresAt)],
];

function scope({ scopeTools }: OwnSession): string {
  if (scopeTools === null) return 'all';
  return scopeTools.length === 0 ? 'none' : visible(scopeTools.join(', '));
}

type ListBoth = AdminOptions & KeyOptions & ListOptions & { keyId?: string };

function listCommand(io: IO): Command {
  const what =
    'List sessions, newest first: with --key the active ones of that key, with an admin token those of every\n' +
    'key, ended ones too. Without either, the admin token is used where there is one, else TOOLGATE_API_KEY.';
  const examples = ['toolgate sessions list', 'toolgate sessions list --key-id ci --json'];
  const made = command('list', what, examples).option(
    '--key-id <key>',
    'only those of this key, by name or id',
  );
  return withKeyOrAdmin(withList(made)).action((options: ListBoth) =>
    actsAsKey(io, options) ? listOwn(io, options) : listEvery(io, options),
  );
}

async function listOwn(io: IO, options: ListBoth): Promise<void> {
  const { sessions } = await asKey(io, options).get<{ sessions: OwnSession[] }>('/sessions');
  if (options.json) return printJson(io, { sessions });
  printTable(io, sessions, COLUMNS, 'There are no active sessions of this key.');
}

async function listEvery(io: IO, options: ListBoth): Promise<void> {
  const http = asAdmin(io, options);
  const keys = options.json ? new Map<string, string>() : await keyNames(http);
  const only = options.keyId === undefined ? undefined : await pastKeyId(http, options.keyId);
  const owner: Column<Session>[] = [
    ['KEY', session => visible(keys.get(session.keyId) ?? session.keyId)],
    ['STATE', state],
  ];
  await printList<Session>(io, http, options, {
    path: '/sessions',
    plural: 'sessions',
    query: { keyId: only },
    nothing: 'There are no sessions.',
    columns: [...COLUMNS.slice(0, 1), ...owner, ...COLUMNS.slice(1), ...WHOSE],
  });
}

/** Who signed in with what; most sessions act for nobody. */
const WHOSE: Column<Session>[] = [
  ['PERSON', ({ personId, personEmail }) => visible(personEmail ?? personId ?? '-')],
  ['CLIENT', ({ clientId, clientName }) => visible(clientName ?? clientId ?? '-')],
];

function state(session: Session): string {
  if (session.revokedAt !== null) return 'revoked';
  return Date.parse(session.expiresAt) <= Date.now() ? 'expired' : 'active';
}

function revokeCommand(io: IO): Command {
  const what =
    'Revoke a session at once: with --key one of that key, with an admin token one of any key. Without either,\n' +
    'the admin token is used where there is one, else TOOLGATE_API_KEY.';
  const examples = ['toolgate sessions revoke 01890000-0000-7000-8000-000000000000'];
  const made = command('revoke', what, examples).argument('<id>', 'as listed');
  return withKeyOrAdmin(made).action(async (id: string, options: KeyOptions & AdminOptions) => {
    const http = actsAsKey(io, options) ? asKey(io, options) : asAdmin(io, options);
    await http.delete(`/sessions/${encodeURIComponent(id)}`);
    if (options.json) return printJson(io, { id, revoked: true });
    say(io, `Session ${id} is revoked.`);
  });
}
