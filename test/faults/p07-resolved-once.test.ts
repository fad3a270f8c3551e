// P7: every approval is resolved exactly once, however many answer at once, on one process or two replicas,
// also while the sweeper is about to end it: one winner or none, one approval.resolved event, and everybody
// else is told that it is over. Where several people have to approve, exactly as many as are needed decide, once; and where
// passkeys have to sign, as many signatures are kept that convince somebody else. The mutants answer without looking whether
// somebody else has, count votes without the lock, count a person twice, want no signature, and keep none.

import { expect, test } from 'bun:test';
import type { ApprovalProofs } from '../../src/core/api/resources.ts';
import { checkProofs } from '../../src/core/approvals/proof-check.ts';
import { type Asked, type Gate, openGate } from '../approvals/gate.ts';
import { newSigner, ORIGIN, resolve, type Signer, signed } from '../approvals/signers.ts';
import { newPerson, type Person, send } from '../operators/people.ts';
import { figures, random, SEED, until, withMutant } from '../support/faults.ts';
import type { Patch } from '../support/mutant.ts';
import { LONG } from '../support/need.ts';
import type { Engine, TestService } from '../support/service.ts';
import { enginesWhenChanged, sized, whenChanged } from '../support/when-changed.ts';

const APPROVALS = sized(200, 20, 10);
const POSTS = LONG ? 50 : 20;
const AT_ONCE = 10;
const BALLOTS = sized(100, 10, 4);
const SIGNED = sized(60, 4, 2);
const VOTES = 50;
const NEEDED = 2;
/** No wait of the store's is given up sooner. */
const STORE_MS = 900;
/** Time for the link to arrive, and little to wait for the end. */
const SHORT = '2s';
const chance = random(SEED);
/** A mutant's run ends with its first violation. */
const foundOut = (found: { violations: number }, root?: string): boolean =>
  root !== undefined && found.violations > 0;

const UNCONDITIONAL: Patch = {
  file: 'src/store/approvals.ts',
  find: `WHERE id = $1 AND status = 'pending' AND expires_at > $3`,
  replace: 'WHERE id = $1 AND expires_at > $3',
};

/** Harmless by itself. On SQLite everything between the look and the update otherwise runs in one turn. */
const WAITING: Patch = {
  file: 'src/guard/approvals/answer.ts',
  find: 'const resolved = await deps.db.transaction(',
  replace: 'await new Promise(setImmediate);\n  const resolved = await deps.db.transaction(',
};

/** When the answers to a racing approval begin, in milliseconds from its end; the last never wins. */
const STARTS = [-25, -10, -3, 1];

interface Found {
  approvals: number;
  posts: number;
  /** Ended by the sweeper. */
  lapsed: number;
  /** Neither a win nor a 410. */
  oddAnswers: number;
  /** Approvals that did not end exactly once, or were not told of exactly once. */
  violations: number;
}

/** Votes that are counted at the same time do not see each other. SQLite has one writer at a time, and needs no lock. */
const NO_LOCK: Patch = {
  file: 'src/guard/approvals/answer.ts',
  find: 'exclusive: isVotedOn(approval) ? [approvalsLock(approval.keyId)] : [],',
  replace: 'exclusive: isVotedOn(approval) ? [] : [approvalsLock(approval.keyId)],',
};

const COUNTED_TWICE: Patch = {
  file: 'src/guard/approvals/votes.ts',
  find: 'insertVote(tx, { approvalId: id, operatorId, by, at })',
  replace: 'insertVote(tx, { approvalId: id, operatorId: operatorId + Math.random(), by, at })',
};

const UNSIGNED: Patch = {
  file: 'src/guard/approvals/proofs.ts',
  find: "if (typeof who === 'string' || proof === undefined) throw needsPasskey();",
  replace: "if (typeof who === 'string' || proof === undefined) return null;",
};

const NOT_KEPT: Patch = {
  file: 'src/guard/approvals/proofs.ts',
  find: 'await insertProof(tx, { ...proven, by, at });',
  replace: 'void insertProof;',
};

for (const engine of await enginesWhenChanged('src/store/**', 'src/guard/**')) {
  test(`${engine}: no approval that has to be signed is given without as many signatures as votes`, async () => {
    expect(await measureSigned(engine, SIGNED)).toMatchObject({ ballots: SIGNED, violations: 0 });
  });

  const signing = engine === 'postgres' ? NOT_KEPT : UNSIGNED;
  whenChanged(signing)(`${engine}: a mutant that wants or keeps no signature is found out`, async () => {
    const found = await withMutant(
      [signing],
      async root => (await measureSigned(engine, 2, root)).violations,
    );
    expect(found).toBeGreaterThan(0);
  });

  test(`${engine}: of 50 votes by three people, the two that are needed decide, once`, async () => {
    expect(await measureVotes(engine, BALLOTS)).toMatchObject({ ballots: BALLOTS, violations: 0 });
  });

  const counting = engine === 'postgres' ? NO_LOCK : COUNTED_TWICE;
  whenChanged(counting)(`${engine}: a mutant that counts votes wrongly is found out`, async () => {
    const found = await withMutant(
      [counting],
      async root => (await measureVotes(engine, 6, root)).violations,
    );
    expect(found).toBeGreaterThan(0);
  });

  test(`${engine}: of many answers exactly one wins`, async () => {
    const found = await measure(engine, APPROVALS, '60m');
    expect(found).toMatchObject({ approvals: APPROVALS, lapsed: 0, oddAnswers: 0, violations: 0 });
  });

  test(`${engine}: nor do answers and the sweeper both win`, async () => {
    const found = await measure(engine, APPROVALS, SHORT);
    expect(found).toMatchObject({ approvals: APPROVALS, oddAnswers: 0, violations: 0 });
    expect(found.lapsed).toBeGreaterThan(0);
  });

  whenChanged(UNCONDITIONAL, WAITING)(
    `${engine}: a mutant that does not look has several winners`,
    async () => {
      const found = await withMutant(
        [UNCONDITIONAL, WAITING],
        async root => (await measure(engine, 20, '60m', root)).violations,
      );
      expect(found).toBeGreaterThan(0);
    },
  );
}

async function measure(engine: Engine, approvals: number, timeout: string, root?: string): Promise<Found> {
  const gate = await openGate({
    engine,
    replicas: engine === 'postgres' ? 2 : 1,
    env: { TOOLGATE_APPROVAL_TIMEOUT: timeout, TOOLGATE_MAX_OPEN_APPROVALS_PER_KEY: '100000' },
    ...(root && { root }),
  });
  const found: Found = { approvals: 0, posts: 0, lapsed: 0, oddAnswers: 0, violations: 0 };
  try {
    const key = await gate.key();
    while (found.approvals < approvals && !foundOut(found, root)) {
      const startAt = (index: number) =>
        timeout === SHORT ? (STARTS[index % STARTS.length] as number) : null;
      await Promise.all(
        Array.from({ length: AT_ONCE }, (_, index) => contest(gate, key, startAt(index), found)),
      );
    }
  } finally {
    await gate.close();
  }
  const where = `${engine === 'postgres' ? 'two on postgres' : 'sqlite'}, ${timeout}${root ? ' mutant' : ''}`;
  figures(`P7 ${where}`, {
    seed: SEED,
    operations: found.posts,
    ...found,
    violations: found.violations + found.oddAnswers,
  });
  return found;
}

/** One approval, all the answers to it, and how it ended. */
async function contest(gate: Gate, key: string, startAt: number | null, found: Found): Promise<void> {
  const { token, referenceId } = await asked(gate, key);
  const start = startAt === null ? 0 : startAt + (await endOf(gate, referenceId));
  let untold = 0;
  const statuses = await Promise.all(
    Array.from({ length: POSTS }, async (_, index) => {
      if (startAt !== null) await Bun.sleep(Math.max(0, start - Date.now()) + chance() * 20);
      const service = gate.services[index % gate.services.length];
      const body = index % 3 === 0 ? { action: 'deny' } : { action: 'approve', duration: '5m' };
      return answered(
        () => gate.answer(token, body, {}, service),
        () => untold++,
      );
    }),
  );
  await until('its end', async () => (await gate.statusOf(referenceId)) !== 'pending');
  const winners = statuses.filter(status => status === 200).length;
  const lapsed = (await gate.statusOf(referenceId)) === 'timed_out' ? 1 : 0;
  const of = (table: string, column: string, more = '') =>
    gate.rows(`SELECT id FROM ${table} WHERE ${column} = '${referenceId}' ${more}`);
  const events = await of('events', 'reference_id', `AND type = 'approval.resolved'`);
  const grants = await of('grants', 'reference_id');
  found.approvals++;
  found.posts += POSTS;
  found.lapsed += lapsed;
  found.oddAnswers += statuses.filter(status => status !== 200 && status !== 410).length;
  const ends = winners + lapsed;
  // A winner who was told nothing is one of those.
  const once = ends === 1 || (ends === 0 && untold > 0);
  if (!once || events.length !== 1 || grants.length > 1 - lapsed) found.violations++;
}

interface Ballots {
  ballots: number;
  votes: number;
  violations: number;
}

async function measureVotes(engine: Engine, ballots: number, root?: string): Promise<Ballots> {
  const replicas = engine === 'postgres' ? 2 : 1;
  const gate = await openGate({ engine, replicas, ...(root && { root }) });
  const found: Ballots = { ballots: 0, votes: 0, violations: 0 };
  try {
    const approvers = { group: 'finance', count: NEEDED };
    const key = await gate.key([{ tool: '*', action: 'require_approval', approvers }]);
    const people: Person[] = [];
    for (let index = 0; index < 3; index++) {
      const person = await newPerson(gate.service, 'approver');
      await gate.service.admin('PATCH', `/operators/${person.id}`, { groups: ['finance'] });
      people.push(person);
    }
    while (found.ballots < ballots && !foundOut(found, root)) await ballot(gate, key, people, found);
  } finally {
    await gate.close();
  }
  const where = engine === 'postgres' ? 'two on postgres' : 'sqlite';
  figures(`P7 votes ${where}${root ? ' mutant' : ''}`, { seed: SEED, operations: found.votes, ...found });
  return found;
}

/** All votes on one approval, half of them through the link, and how it ended. */
async function ballot(gate: Gate, key: string, people: readonly Person[], found: Ballots): Promise<void> {
  const { token, referenceId } = await asked(gate, key);
  let untold = 0;
  const cast = async (_: unknown, index: number) => {
    const service = gate.services[index % gate.services.length] as TestService;
    // Several votes of one person come before those of the next, so that counting somebody twice shows.
    const { cookie } = people[Math.floor(index / 10) % people.length] as Person;
    const body = { action: 'approve' };
    const byLink = () => gate.answer(token, body, { Cookie: cookie }, service);
    const path = `/admin/v1/approvals/${referenceId}/resolve`;
    const byName = () => send(service, 'POST', path, { cookie }, body);
    return answered(chance() < 0.5 ? byLink : byName, () => untold++);
  };
  const statuses = await Promise.all(Array.from({ length: VOTES }, cast));
  const counted = statuses.filter(status => status === 200).length;
  const voters = await gate.rows<{ voter: string }>(
    `SELECT DISTINCT voted_by AS voter FROM approval_votes WHERE approval_id = '${referenceId}'`,
  );
  const events = await gate.rows(
    `SELECT id FROM events WHERE reference_id = '${referenceId}' AND type = 'approval.resolved'`,
  );
  const decided = (await gate.statusOf(referenceId)) === 'approved' && events.length === 1;
  // A voter who was told nothing tries again, and is then told that they have voted.
  const told = counted === NEEDED || (counted < NEEDED && untold > 0);
  const odd = statuses.some(status => ![200, 409, 410].includes(status));
  found.ballots++;
  found.votes += VOTES;
  if (!decided || !told || odd || voters.length !== NEEDED) found.violations++;
}

async function measureSigned(engine: Engine, ballots: number, root?: string): Promise<Ballots> {
  const replicas = engine === 'postgres' ? 2 : 1;
  const env = { TOOLGATE_PUBLIC_URL: ORIGIN };
  const gate = await openGate({ engine, replicas, env, ...(root && { root }) });
  const found: Ballots = { ballots: 0, votes: 0, violations: 0 };
  try {
    const approvers = { count: NEEDED, proof: 'passkey' as const };
    const key = await gate.key([{ tool: '*', action: 'require_approval', approvers }]);
    const people: Signer[] = [];
    for (let index = 0; index < 3; index++) people.push(await newSigner(gate.service));
    const decoy = (await asked(gate, key)).referenceId;
    while (found.ballots < ballots && !foundOut(found, root))
      await signedBallot(gate, key, people, decoy, found);
  } finally {
    await gate.close();
  }
  const where = engine === 'postgres' ? 'two on postgres' : 'sqlite';
  figures(`P7 signed ${where}${root ? ' mutant' : ''}`, { seed: SEED, operations: found.votes, ...found });
  return found;
}

/**
 * Everybody signs, and answers on every replica with their own signature, with somebody else's, with one for another call
 * and with none. `decoy` is that other call, which nobody ever approves.
 */
async function signedBallot(
  gate: Gate,
  key: string,
  people: readonly Signer[],
  decoy: string,
  found: Ballots,
): Promise<void> {
  const { token, referenceId } = await asked(gate, key);
  const at = (index: number) => gate.services[index % gate.services.length] as TestService;
  const own = await Promise.all(people.map((each, index) => signed(at(index), referenceId, each)));
  const other = await signed(gate.service, decoy, people[0] as Signer);
  const tries = people.flatMap((who, index) =>
    [own[index], own[index], own[(index + 1) % own.length], other, undefined].map(proof => ({ who, proof })),
  );
  tries.sort(() => chance() - 0.5);
  let untold = 0;
  const statuses = await Promise.all(
    tries.map(({ who, proof }, index) => {
      const body = { action: 'approve', ...(proof && { proof }) };
      const byLink = () => gate.answer(token, body, { Cookie: who.cookie }, at(index));
      const byName = () => resolve(at(index), referenceId, who, body);
      return answered(chance() < 0.5 ? byLink : byName, () => untold++);
    }),
  );
  const shown = (await gate.service.admin('GET', `/approvals/${referenceId}/proofs`)).body as ApprovalProofs;
  const counted = statuses.filter(status => status === 200).length;
  const told = counted === NEEDED || (counted < NEEDED && untold > 0);
  const { good } = await checkProofs(shown, referenceId, []);
  const kept = shown.proofs.length === NEEDED && shown.votes.approved.length === NEEDED;
  const decided = shown.status === 'approved' && (await gate.statusOf(decoy)) === 'pending';
  const odd = statuses.some(status => ![200, 403, 409, 410].includes(status));
  found.ballots++;
  found.votes += tries.length;
  if (!good || !kept || !decided || !told || odd) found.violations++;
}

/** One that lapses before its link is out, on a machine that stalls, is no contest: another is asked for. */
async function asked(gate: Gate, key: string): Promise<Asked> {
  for (;;) {
    const { referenceId } = (await gate.service.check(key, 'prod', `tool-${crypto.randomUUID()}`)).body;
    const arrived = () => gate.inbox.arrivals.some(each => each.json?.referenceId === referenceId);
    const over = async () => (await gate.statusOf(referenceId)) !== 'pending';
    await until('its link, or its end', async () => arrived() || (await over()));
    if (arrived()) return gate.link(referenceId);
  }
}

/** The store of a machine that stalls may be too late to tell who won; then the person tries again. */
async function answered(answer: () => Promise<{ status: number }>, late: () => void): Promise<number> {
  let status = 0;
  await until('an answer', async () => {
    const begun = performance.now();
    ({ status } = await answer());
    if (status < 500 || performance.now() - begun < STORE_MS) return true;
    late();
    return false;
  });
  return status;
}

async function endOf(gate: Gate, referenceId: string): Promise<number> {
  const [row] = await gate.rows<{ at: number }>(
    `SELECT expires_at AS at FROM approvals WHERE id = '${referenceId}'`,
  );
  return Number(row?.at);
}
