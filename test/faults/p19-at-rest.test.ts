// P19: what is stored is useless to a thief: no token, no webhook secret and no notifier's address is in any
// row or file of the store in plain text, also while approvals wait and notifications are being retried; nor is anything
// with which people, their clients or Toolgate itself sign in. The mutants store one kind each as it is.

import { expect, test } from 'bun:test';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ASK_ALL, dump } from '../approvals/gate.ts';
import { figures, newDataDir, sql, until, withMutant } from '../support/faults.ts';
import type { Patch } from '../support/mutant.ts';
import { need } from '../support/need.ts';
import { sharedPostgres } from '../support/postgres.ts';
import { Receiver } from '../support/receiver.ts';
import { ADMIN_TOKEN, type Engine, startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged, sized, whenChanged } from '../support/when-changed.ts';
import { Outside, PEOPLE_KINDS, sendSecrets } from './people-canaries.ts';

const ROUNDS = sized(20, 3, 1);

const MUTANTS: Record<string, Patch[]> = {
  'webhook secrets': [
    {
      file: 'src/guard/outgoing/webhooks.ts',
      find: 'vault.encrypt(secret, about(id));',
      replace: '(vault && about(id) ? secret : secret);',
    },
    {
      file: 'src/guard/outgoing/webhooks.ts',
      find: 'vault.decrypt(encrypted, about(id))',
      replace: '(vault && about(id) ? encrypted : encrypted)',
    },
  ],
  'tokens of unsent links': [
    {
      file: 'src/guard/approvals/ask.ts',
      find: 'deps.vault.encrypt(token,',
      replace: '((plain: string, _about: string) => plain)(token,',
    },
    {
      file: 'src/guard/approvals/notify/notify.ts',
      find: 'vault.decrypt(leased.tokenEncrypted,',
      replace: '((plain: string, _about: string) => plain)(leased.tokenEncrypted,',
    },
  ],
  'notifiers’ addresses': [
    {
      file: 'src/guard/keys.ts',
      find: 'vault.encrypt(JSON.stringify(notify), about(keyId));',
      replace: 'JSON.stringify(notify);',
    },
    {
      file: 'src/guard/keys.ts',
      find: 'JSON.parse(vault.decrypt(encrypted, about(keyId)));',
      replace: 'JSON.parse(encrypted);',
    },
  ],
};

/** One on each engine: the two have nothing of their own in this. */
const PEOPLE_MUTANTS: Record<Engine, Record<string, Patch[]>> = {
  sqlite: {
    'people’s refresh tokens': [
      {
        file: 'src/guard/people/oauth-tokens.ts',
        find: "insertOAuthToken(tx, row('refresh', IDLE_MS), refresh.hash);",
        replace: "insertOAuthToken(tx, row('refresh', IDLE_MS), refresh.token);",
      },
      {
        file: 'src/guard/people/oauth-tokens.ts',
        find: 'const hash = hashToken(token);',
        replace: 'const hash = token;',
      },
    ],
  },
  postgres: {
    'servers’ tokens': [
      {
        file: 'src/guard/server-sign-ins/kept-tokens.ts',
        find: 'return vault.encrypt(JSON.stringify(tokens), about(toolId, personId));',
        replace: 'return vault && about(toolId, personId) && JSON.stringify(tokens);',
      },
      {
        file: 'src/guard/server-sign-ins/kept-tokens.ts',
        find: 'JSON.parse(vault.decrypt(row.tokensEncrypted, about(row.toolId, row.personId)))',
        replace: 'JSON.parse(vault && row.tokensEncrypted)',
      },
    ],
  },
};

type Part = 'calls' | 'people';

for (const engine of await enginesWhenChanged('src/store/**', 'src/guard/**')) {
  const readable = engine === 'sqlite' || (await sharedPostgres())?.owned === true;
  const can = need(readable, 'the files of the database');

  test.skipIf(!can)(`${engine}: no secret is at rest in plain text`, async () => {
    const { hits, kinds } = await measure(engine);
    expect(hits).toEqual([]);
    expect(kinds).toBe(10 + PEOPLE_KINDS);
  });

  const finds = (part: Part, mutants: Record<string, Patch[]>) => {
    for (const [what, patches] of Object.entries(mutants)) {
      whenChanged(...patches).skipIf(!can)(
        `${engine}: a mutant that keeps ${what} as they are is found out`,
        async () => {
          const found = await withMutant(
            patches,
            async root => (await measure(engine, root, [part])).hits.length,
          );
          expect(found).toBeGreaterThan(0);
        },
      );
    }
  };
  finds('calls', MUTANTS);
  finds('people', PEOPLE_MUTANTS[engine]);
}

/** What must not be found, by kind. */
type Secrets = Map<string, string[]>;

async function measure(
  engine: Engine,
  root?: string,
  parts: readonly Part[] = ['calls', 'people'],
): Promise<{ hits: string[]; kinds: number }> {
  const dataDir = newDataDir();
  const outside = parts.includes('people') ? await Outside.start() : null;
  // Refused, so that the token is still wanted.
  const notifier = await Receiver.start(() => 500);
  const env = { TOOLGATE_NOTIFY_URL: `${notifier.url}/general-notifier-address`, ...outside?.settings };
  const service = await startService({ engine, dataDir, env, ...(root && { root }) });
  const secrets: Secrets = new Map();
  const found = new Set<string>();
  try {
    keep(secrets, 'the admin token', ADMIN_TOKEN);
    keep(secrets, 'the first key', /shown this once: (\S+)/.exec(service.output)?.[1]);
    keep(secrets, 'the setup link', /setup\?token=(\S+)/.exec(service.output)?.[1]);
    const rounds = parts.includes('calls') ? (root ? 1 : ROUNDS) : 0;
    for (let round = 0; round < rounds; round++) await fill(service, notifier, secrets);
    if (outside !== null) await sendSecrets(service, outside, (kind, secret) => keep(secrets, kind, secret));
    for (const place of await search(service, engine, secrets)) found.add(place);
  } finally {
    await service.kill('SIGKILL');
    await notifier.close();
    await outside?.close();
  }
  for (const place of searchFiles([dataDir], secrets)) found.add(place);
  rmSync(dataDir, { recursive: true, force: true });
  const count = [...secrets.values()].flat().length;
  figures(`P19 ${engine}${root ? ' mutant' : ''}`, {
    operations: count,
    violations: found.size,
  });
  return { hits: [...found].sort(), kinds: secrets.size };
}

function keep(secrets: Secrets, kind: string, value: string | undefined): void {
  if (value === undefined || value.length < 10) throw new Error(`there is no ${kind} to look for`);
  secrets.set(kind, [...(secrets.get(kind) ?? []), value]);
}

async function fill(service: TestService, notifier: Receiver, secrets: Secrets): Promise<void> {
  const mark = crypto.randomUUID();
  const notify = { url: `${notifier.url}/own-${mark}`, slackWebhookUrl: `${notifier.url}/slack-${mark}` };
  const { key } = await service.newKey(ASK_ALL, { notify });
  keep(secrets, 'a key', key);
  keep(secrets, 'a notifier', `/own-${mark}`);
  keep(secrets, 'a Slack address', `/slack-${mark}`);
  const session = (await service.json('POST', '/v1/sessions', key, {})).body.token;
  keep(secrets, 'a session token', session);
  const webhook = (await service.admin('POST', '/webhooks', { url: notifier.url })).body;
  const rotated = (await service.admin('POST', `/webhooks/${webhook.id}/rotate-secret`)).body;
  // The prefix is no secret, and base64 padding is none either.
  keep(secrets, 'a webhook secret', webhook.secret.slice(6, -1));
  keep(secrets, 'a rotated secret', rotated.secret.slice(6, -1));
  const { referenceId } = (await service.check(session, 'prod', 'deploy')).body;
  const sent = () => notifier.arrivals.find(each => each.json?.referenceId === referenceId);
  await until('the link', () => sent() !== undefined);
  keep(secrets, 'an approval token', /tg_apr_\w+/.exec(sent()?.json.approveUrl)?.[0]);
}

async function search(service: TestService, engine: Engine, secrets: Secrets): Promise<string[]> {
  const hits: string[] = [];
  for (const [table, rows] of Object.entries(await dump(service.databaseUrl)))
    for (const kind of kindsIn(Buffer.from(rows.join('\n')), secrets)) hits.push(`${kind} in table ${table}`);
  const folders = engine === 'sqlite' ? [service.dataDir] : await serverFolders(service.databaseUrl);
  return [...hits, ...searchFiles(folders, secrets)];
}

/** The database's own files and the write-ahead log. */
async function serverFolders(databaseUrl: string): Promise<string[]> {
  const dataDir = (await sharedPostgres())?.dataDir ?? '';
  const [own] = await sql<{ oid: number }>(
    databaseUrl,
    'CHECKPOINT',
    'SELECT oid FROM pg_database WHERE datname = current_database()',
  );
  return [join(dataDir, 'base', String(own?.oid)), join(dataDir, 'pg_wal')];
}

function searchFiles(folders: string[], secrets: Secrets): string[] {
  const files = folders.flatMap(folder =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map(name => join(folder, name)),
  );
  return files.flatMap(file => [...kindsIn(contentOf(file), secrets)].map(kind => `${kind} in a file`));
}

/** Nothing of a folder, nor of a file that the server removed meanwhile. */
function contentOf(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EISDIR' && code !== 'ENOENT') throw error;
    return Buffer.alloc(0);
  }
}

/** As it is, and as JSON or base64 would carry it. */
function kindsIn(bytes: Buffer, secrets: Secrets): Set<string> {
  const kinds = new Set<string>();
  for (const [kind, values] of secrets)
    for (const value of values)
      if (
        [value, value.replaceAll('/', '\\/'), Buffer.from(value).toString('hex')].some(each =>
          bytes.includes(each),
        )
      )
        kinds.add(kind);
  return kinds;
}
