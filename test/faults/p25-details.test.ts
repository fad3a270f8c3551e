// P25: the details of a call are seen by whoever may answer it, until it ends, and by nobody else. Calls of three kinds of
// rules are held on one replica and looked at from every seat on every replica: operators of all roles and groups, the
// admin token, links with and without a sign-in, agents. A user of the database listens meanwhile, repeats what was asked
// and forges questions. Then calls are answered, lapse, and the process that judged them is killed. Results of tasks are
// looked at in the same way by the credential that made the call and by others (task-seats.ts). The mutants answer
// whoever asks, answer twice, answer too late, show details to everybody, keep them for too long, or let people approve
// what they were not shown.

import { expect, test } from 'bun:test';
import { DETAILS_GONE } from '../../src/core/approvals/details.ts';
import type { Rule } from '../../src/core/policy/policy.ts';
import { DETAILS } from '../../src/guard/exchange/kinds.ts';
import { newQuestion } from '../../src/guard/exchange/messages.ts';
import { Vault } from '../../src/guard/secrets.ts';
import type { Role } from '../../src/store/operators.ts';
import { type Asked, from, type Gate, openGate } from '../approvals/gate.ts';
import { newPerson, OWN, send } from '../operators/people.ts';
import { figures, until, withMutant } from '../support/faults.ts';
import type { Patch } from '../support/mutant.ts';
import { LONG } from '../support/need.ts';
import { ADMIN_TOKEN, type Engine, startService, type TestService } from '../support/service.ts';
import { enginesWhenChanged, whenChanged } from '../support/when-changed.ts';
import { Snoop } from './snoop.ts';
import { seatsOfTasks } from './task-seats.ts';

const ROUNDS = LONG ? 10 : 1;
/** As all test services have it. */
const VAULT = new Vault(new Uint8Array(32).fill(7));
const FOREIGN = new Vault(new Uint8Array(32).fill(8));

type Seat = 'viewer' | 'approver' | 'other group' | 'finance' | 'admin' | 'admin token' | 'nobody' | 'agent';
type Stage = 'held' | 'channel' | 'seen' | 'ended' | 'tasks' | 'restart';

interface Mutant {
  engine: Engine;
  patches: Patch[];
  /** What is measured, since all of it takes long. */
  stage: Stage;
  kind: string;
  seats: Seat[];
}

const onChannel = (patch: Patch): Mutant => ({
  engine: 'postgres',
  patches: [patch],
  stage: 'channel',
  kind: 'open',
  seats: ['admin token'],
});

const onSeen = (patch: Patch): Mutant => ({
  engine: 'sqlite',
  patches: [patch],
  stage: 'seen',
  kind: 'open',
  seats: ['admin token'],
});

const MUTANTS: Record<string, Mutant> = {
  'that answers whoever asks': onChannel({
    file: 'src/guard/exchange/messages.ts',
    find: "|| !hasMac(vault, kind, 'question', text)) return null;",
    replace: ') return null;',
  }),
  'that answers a question again': onChannel({
    file: 'src/guard/exchange/exchange.ts',
    find: 'this.#heard.has(id) || ',
    replace: '',
  }),
  'that answers about what has ended': onChannel({
    file: 'src/guard/exchange/exchange.ts',
    find: 'if (!(await mayGive(question.about))) return;',
    replace: '',
  }),
  'that shows details to everybody': {
    engine: 'sqlite',
    patches: [
      {
        file: 'src/guard/approvals/shown-details.ts',
        find: "if (reader !== 'link' && !mayAnswer(approval, reader))",
        replace: 'if (!mayAnswer)',
      },
    ],
    stage: 'held',
    kind: 'open',
    seats: ['viewer'],
  },
  'that shows the group’s details to any approver': {
    engine: 'sqlite',
    patches: [
      {
        file: 'src/guard/approvals/shown-details.ts',
        find: '!mayAnswer(approval, reader)',
        replace: '!mayAnswer({ ...approval, approverGroup: null }, reader)',
      },
    ],
    stage: 'held',
    kind: 'of a group',
    seats: ['other group'],
  },
  'that takes an approval of what was not shown': onSeen({
    file: 'src/guard/approvals/seen.ts',
    find: 'return !unshown && beginningOf(details).complete ? null : notSeen(UNREAD);',
    replace: 'return null;',
  }),
  'that takes the digest of any call': onSeen({
    file: 'src/guard/approvals/shown-details.ts',
    find: "[id, argsDigest, ruleDigest ?? '',",
    replace: "['', '', ruleDigest && id ? '' : argsDigest,",
  }),
  'that stores a digest that everybody can compute': onSeen({
    file: 'src/guard/approvals/ask.ts',
    find: "    reason,\n    status: 'pending',",
    replace:
      "    reason: reason + new Bun.CryptoHasher('sha256').update(JSON.stringify(args)).digest('hex'),\n    status: 'pending',",
  }),
  'that keeps what was answered elsewhere': {
    engine: 'postgres',
    patches: [
      {
        file: 'src/guard/approvals/details.ts',
        find: 'if (referenceId !== null) this.#holding.forget(referenceId);',
        replace: '',
      },
    ],
    stage: 'ended',
    kind: 'open',
    seats: ['admin token'],
  },
  'that shows what was answered': {
    engine: 'sqlite',
    patches: [
      {
        file: 'src/guard/approvals/details.ts',
        find: '    this.#holding.forget(referenceId);\n    giveHint(',
        replace: '    giveHint(',
      },
      {
        file: 'src/guard/approvals/details.ts',
        find: 'if (referenceId !== null) this.#holding.forget(referenceId);',
        replace: '',
      },
      {
        file: 'src/guard/approvals/details.ts',
        find: 'if (!isOpen(approval, this.#now())) return null;',
        replace: '',
      },
    ],
    stage: 'ended',
    kind: 'open',
    seats: ['admin token'],
  },
  'that shows results of tasks to other sessions of the key': {
    engine: 'sqlite',
    patches: [
      {
        file: 'src/mcp/tasks/task-state.ts',
        find: 'const isSameSession = task.sessionId === sessionId ||',
        replace: 'const isSameSession = task.sessionId !== null || sessionId === null ||',
      },
    ],
    stage: 'tasks',
    kind: 'open',
    seats: ['admin token'],
  },
  'that gives away results whose time is over': {
    engine: 'postgres',
    patches: [
      {
        file: 'src/guard/tasks/known-calls.ts',
        find: 'return (task !== null && task.knownUntil > now) || isIdempotentCall(db, toolCallId, now);',
        replace: 'return (task !== null && now > 0) || isIdempotentCall(db, toolCallId, now);',
      },
    ],
    stage: 'tasks',
    kind: 'open',
    seats: ['admin token'],
  },
};

const both = await enginesWhenChanged('src/store/**', 'src/guard/**');

for (const engine of both) {
  test(`${engine}: details are seen by whoever may answer, and by nobody else`, async () => {
    const { violations } = await measure(engine, { seats: SEATS, kinds: Object.keys(KINDS), rounds: ROUNDS });
    expect(violations).toEqual([]);
  });
}

for (const [what, { engine, patches, stage, kind, seats }] of Object.entries(MUTANTS)) {
  if (!both.includes(engine)) continue;
  whenChanged(...patches)(`${engine}: a mutant ${what} is found out`, async () => {
    const options = { seats, kinds: [kind], rounds: 1, only: stage };
    const { violations } = await withMutant(patches, root => measure(engine, options, root));
    expect(violations.length).toBeGreaterThan(0);
  });
}

// --- measuring -----------------------------------------------------------------------------------

interface Options {
  seats: Seat[];
  kinds: string[];
  rounds: number;
  only?: Stage;
}

async function measure(
  engine: Engine,
  { seats, kinds, rounds, only }: Options,
  root?: string,
): Promise<{ violations: string[] }> {
  const wants = (stage: Stage) => only === undefined || only === stage;
  const gate = await openGate({
    engine,
    replicas: engine === 'postgres' ? 2 : 1,
    env: { TOOLGATE_LOG_LEVEL: 'silent' },
    ...(root && { root }),
  });
  const campaign = await Campaign.begin(gate, seats, kinds);
  const snoop = engine === 'postgres' ? await Snoop.on(gate.service.databaseUrl, DETAILS) : null;
  try {
    for (let round = 0; round < rounds; round++) {
      await campaign.ask();
      if (wants('held')) await campaign.whileHeld();
      if (wants('channel') && snoop !== null) await campaign.snoopedOn(snoop, root ? 10_000 : 100);
      if (wants('seen')) await campaign.unseenAnswers();
      if (wants('ended')) await campaign.afterTheEnd();
      if (wants('tasks')) await seatsOfTasks(gate, campaign);
    }
    if (wants('restart')) await campaign.afterRestart();
  } finally {
    await snoop?.close();
    await gate.close();
  }
  figures(`P25 ${engine}${root ? ' mutant' : ''}`, {
    operations: campaign.looks,
    faults: campaign.faults + (snoop?.sent ?? 0),
    violations: campaign.violations.size,
  });
  return { violations: [...campaign.violations].sort() };
}

/** Who sees a call: in the administration, and behind its link. */
interface Sees {
  here: Seat[];
  link: Seat[];
}

const NOBODY: Sees = { here: [], link: [] };

interface Kind {
  rule: Partial<Rule>;
  key: Record<string, unknown>;
  sees: Sees;
}

type Cookies = Partial<Record<Seat, string>>;

interface Person {
  role: Role;
  groups: string[];
}

const PEOPLE: Partial<Record<Seat, Person>> = {
  viewer: { role: 'viewer', groups: ['finance'] },
  approver: { role: 'approver', groups: [] },
  'other group': { role: 'approver', groups: ['legal'] },
  finance: { role: 'approver', groups: ['legal', 'finance'] },
  admin: { role: 'admin', groups: [] },
};

const SEATS: Seat[] = [
  'viewer',
  'approver',
  'other group',
  'finance',
  'admin',
  'admin token',
  'nobody',
  'agent',
];
const APPROVERS: Seat[] = ['approver', 'other group', 'finance', 'admin'];

const KINDS: Record<string, Kind> = {
  open: { rule: {}, key: {}, sees: { here: [...APPROVERS, 'admin token'], link: SEATS } },
  'signed in': {
    rule: {},
    key: { requireSignInToApprove: true },
    sees: { here: [...APPROVERS, 'admin token'], link: APPROVERS },
  },
  'of a group': {
    rule: { approvers: { group: 'finance' } },
    key: {},
    sees: { here: ['finance'], link: ['finance'] },
  },
};

/** There is more of it than a list shows. */
const callWith = (marker: string) => ({ to: marker, text: `${'x'.repeat(20_000)}${marker}` });

interface Held extends Asked {
  kind: string;
  marker: string;
}

class Campaign {
  readonly violations = new Set<string>();
  looks = 0;
  faults = 0;
  readonly #gate: Gate;
  readonly #seats: Seat[];
  readonly #cookies: Cookies;
  readonly #keys: Record<string, string>;
  readonly #held: Held[] = [];

  static async begin(gate: Gate, seats: Seat[], kinds: string[]): Promise<Campaign> {
    const cookies: Cookies = {};
    const people = seats.filter(seat => PEOPLE[seat] !== undefined);
    await Promise.all(
      people.map(async seat => {
        const { role, groups } = PEOPLE[seat] as Person;
        const { id, cookie } = await newPerson(gate.service, role);
        const changed = await gate.service.admin('PATCH', `/operators/${id}`, { groups });
        if (changed.status !== 200) throw new Error(changed.text);
        cookies[seat] = cookie;
      }),
    );
    const keys: Record<string, string> = {};
    for (const kind of kinds) {
      const { rule, key } = KINDS[kind] as Kind;
      keys[kind] = await gate.key([{ tool: '*', action: 'require_approval', show: 'all', ...rule }], key);
    }
    return new Campaign(gate, seats, cookies, keys);
  }

  private constructor(gate: Gate, seats: Seat[], cookies: Cookies, keys: Record<string, string>) {
    this.#gate = gate;
    this.#seats = seats;
    this.#cookies = cookies;
    this.#keys = keys;
  }

  /** One call of each kind, judged by the first replica. */
  async ask(): Promise<Held[]> {
    const held = await Promise.all(
      Object.entries(this.#keys).map(async ([kind, key]) => {
        const marker = `seen-${crypto.randomUUID()}`;
        return { ...(await this.#gate.ask(key, 'pay', { args: callWith(marker) })), kind, marker };
      }),
    );
    this.#held.push(...held);
    return held;
  }

  async whileHeld(): Promise<void> {
    for (const service of this.#gate.services) {
      for (const held of this.#held) await this.#lookAtHeld(service, held);
      for (const [seat, cookie] of Object.entries(this.#cookies))
        this.#inList(
          service,
          seat as Seat,
          (await send(service, 'GET', '/admin/v1/approvals', { cookie })).text,
        );
      const metrics = (await service.request('GET', '/metrics')).text;
      const told = this.#gate.inbox.arrivals.map(each => JSON.stringify(each.json));
      this.#unseen('in a metric or a message', [metrics, ...told]);
    }
  }

  /** A list shows the beginning to whoever may answer. Of other replicas, it shows what was looked at there. */
  #inList(service: TestService, seat: Seat, text: string): void {
    for (const { kind, marker } of this.#held) {
      const { here } = (KINDS[kind] as Kind).sees;
      const mustBe = here.includes(seat) && (service === this.#gate.service || text.includes(marker));
      this.compare(`a list with a call that is ${kind}: ${seat}`, mustBe, text.includes(marker));
    }
  }

  /** Nobody approves by accident what a list does not show, and nothing is stored that tells what it was. */
  async unseenAnswers(): Promise<void> {
    const [held, other] = [(await this.ask())[0] as Held, (await this.ask())[0] as Held];
    const answer = async (seen: string | undefined) => {
      const body = { action: 'approve', seen };
      return (await this.#gate.service.admin('POST', `/approvals/${held.referenceId}/resolve`, body)).status;
    };
    const digestOf = async ({ referenceId }: Held): Promise<string | undefined> =>
      (await this.#gate.service.admin('GET', `/approvals/${referenceId}`)).body.details?.digest;
    for (const seen of [undefined, 'gone', 'incomplete', await digestOf(other)])
      this.compare('an answer that does not name what was seen', true, (await answer(seen)) === 409);
    const rows = JSON.stringify(await this.#gate.rows('SELECT * FROM approvals'));
    const plain = new Bun.CryptoHasher('sha256').update(JSON.stringify(callWith(held.marker))).digest('hex');
    this.compare('a digest that everybody can compute', false, rows.includes(plain));
    const digest = await digestOf(held);
    this.compare('what was seen', true, (await answer(digest)) === 200);
    this.#held.splice(this.#held.indexOf(held), 1);
  }

  /** Somebody with the database's password repeats and forges questions, and asks as a replica about what has ended. */
  async snoopedOn(snoop: Snoop, patienceMs: number): Promise<void> {
    const [open, ended] = [(await this.ask())[0] as Held, (await this.ask())[0] as Held];
    await this.#lookAtHeld(this.#gate.services[1] as TestService, open);
    const asked = snoop.questions();
    if (asked.length === 0) throw new Error('there was no question to repeat');
    for (const text of asked) await snoop.ask(text);
    await snoop.ask(newQuestion(FOREIGN, DETAILS, open.referenceId, Date.now()).question.text);
    const stolen = (asked.at(-1) as string).split(' ');
    await snoop.ask(stolen.with(3, newQuestion(FOREIGN, DETAILS, '', 0).question.key).join(' '));
    // The store says that it has ended, but the judge was not told.
    const update = (status: string) =>
      this.#gate.rows(`UPDATE approvals SET status = '${status}' WHERE id = '${ended.referenceId}'`);
    await update('denied');
    await snoop.ask(newQuestion(VAULT, DETAILS, ended.referenceId, Date.now()).question.text);
    const last = newQuestion(VAULT, DETAILS, open.referenceId, Date.now()).question;
    await snoop.ask(last.text);
    await until('the last answer', () => snoop.answered().has(last.id));
    const known = new Set([...asked.map(each => each.split(' ')[1]), last.id]);
    const isForeign = () => [...snoop.answered()].some(([id, count]) => count > 1 || !known.has(id));
    // The judge answers over several connections, so the last answer can come before others: a mutant's is waited for.
    await until('an answer that nobody should get', isForeign, patienceMs).catch(() => {});
    await update('pending');
    if (isForeign()) this.violations.add('an answer to a question that gets none');
    this.#unseen('on the channel', snoop.heard);
  }

  /** Half of the calls are answered on the last replica, the others lapse. */
  async afterTheEnd(): Promise<void> {
    const last = this.#gate.services.at(-1) as TestService;
    for (const [index, held] of this.#held.entries()) {
      if (index % 2 === 1) continue;
      const path = `/admin/v1/approvals/${held.referenceId}/resolve`;
      const cookie = held.kind === 'of a group' ? this.#cookies['finance'] : undefined;
      const headers = cookie === undefined ? { Authorization: `Bearer ${ADMIN_TOKEN}` } : OWN;
      const answered = await send(last, 'POST', path, { cookie, headers }, { action: 'deny' });
      if (answered.status !== 200) throw new Error(answered.text);
      for (const service of this.#gate.services) await this.#look(service, held, NOBODY, 'an answered call');
    }
    await this.#gate.lapse();
    for (const service of this.#gate.services) {
      for (const held of this.#held) await this.#look(service, held, NOBODY, 'a call that has ended');
      await this.#emptied(service);
    }
    this.#held.length = 0;
  }

  /** The judge is killed. What nobody has looked at elsewhere is gone, and people are told so. */
  async afterRestart(): Promise<void> {
    const held = await this.ask();
    const { databaseUrl, dataDir } = this.#gate.service;
    await this.#gate.service.kill('SIGKILL');
    this.faults++;
    const env = { TOOLGATE_TRUSTED_PROXIES: '127.0.0.1/32' };
    this.#gate.services[0] = await startService({ databaseUrl, dataDir, env });
    await Promise.all(
      this.#gate.services.flatMap(service =>
        held.map(each => this.#look(service, each, NOBODY, 'a call from before a restart')),
      ),
    );
    const page = await this.#gate.open((held[0] as Held).token);
    if (!page.text.includes(DETAILS_GONE)) this.violations.add('nobody is told that details are gone');
  }

  #lookAtHeld(service: TestService, held: Held): Promise<void> {
    return this.#look(service, held, (KINDS[held.kind] as Kind).sees, `a call that is ${held.kind}`);
  }

  /** Everybody looks, in the administration and at the link: those named see the details, and nobody else does. */
  async #look(service: TestService, held: Held, { here, link }: Sees, what: string): Promise<void> {
    const { referenceId, token, marker, kind } = held;
    const agent = { Authorization: `Bearer ${this.#keys[kind]}` };
    const admin = { Authorization: `Bearer ${ADMIN_TOKEN}` };
    for (const seat of this.#seats) {
      const cookie = this.#cookies[seat];
      const headers = seat === 'agent' ? agent : seat === 'admin token' ? admin : {};
      const init = from({ headers: { ...headers, ...(cookie && { Cookie: cookie }) } });
      const [read, opened] = await Promise.all([
        service.request('GET', `/admin/v1/approvals/${referenceId}`, init),
        service.request('GET', `/v1/approve/${token}`, init),
      ]);
      this.compare(`${what}: ${seat} in the administration`, here.includes(seat), read.text.includes(marker));
      this.compare(`${what}: ${seat} with the link`, link.includes(seat), opened.text.includes(marker));
      if (here.length > 0 && !here.includes(seat) && read.status === 200 && read.body.detailsHidden !== true)
        this.violations.add(`${what}: ${seat} is not told that something is hidden`);
    }
  }

  compare(where: string, expected: boolean, seen: boolean): void {
    this.looks++;
    if (expected !== seen) this.violations.add(`${where}: ${seen ? 'seen' : 'not seen'}`);
  }

  #unseen(where: string, texts: readonly string[]): void {
    for (const { marker } of this.#held)
      this.compare(
        where,
        false,
        texts.some(text => text.includes(marker)),
      );
  }

  /** Everything has ended, so nothing is held. */
  async #emptied(service: TestService): Promise<void> {
    const held = async () =>
      /^toolgate_details_(?:held|bytes) [1-9]/m.test((await service.request('GET', '/metrics')).text);
    await until('the details are let go', async () => !(await held()), EMPTIED_MS).catch(() =>
      this.violations.add('details are held after the end'),
    );
  }
}

/** Soon, and long before the store is looked at for what was missed. */
const EMPTIED_MS = 5000;
