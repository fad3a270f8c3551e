// What frees a call that needs approval and what does not, up to the exact limits of time, which the tests set. Calls
// are decided inside one transaction on either engine, alone and with others in their group.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { AsyncLocalStorage } from 'node:async_hooks';
import { lookAt } from '../../../src/core/definitions/look.ts';
import { GuardError } from '../../../src/core/errors.ts';
import type { Rule } from '../../../src/core/policy/policy.ts';
import { parseDuration } from '../../../src/core/time/duration.ts';
import type { Json } from '../../../src/core/wire/json.ts';
import { resolveByOperator, withdraw } from '../../../src/guard/approvals/approvals.ts';
import { endKey } from '../../../src/guard/approvals/end-key.ts';
import { CheckWork, newMemory } from '../../../src/guard/check/check.ts';
import { GroupCommit } from '../../../src/guard/check/commit.ts';
import { LATER } from '../../../src/guard/check/group-work.ts';
import { createPolicy } from '../../../src/guard/check/policies.ts';
import type { CheckRequest, Verdict } from '../../../src/guard/check/request.ts';
import type { Deps, GuardSettings } from '../../../src/guard/deps.ts';
import { newId } from '../../../src/guard/ids.ts';
import { changeKey, createKey, type KeyNotify } from '../../../src/guard/keys.ts';
import { Vault } from '../../../src/guard/secrets.ts';
import { endSession, mintSession } from '../../../src/guard/sessions.ts';
import { connectTool } from '../../../src/guard/tool-servers/connected-tools.ts';
import { compareDefinitions, definitionDigest } from '../../../src/guard/tool-servers/definitions.ts';
import type { ConnectedTool } from '../../../src/store/connected-tools.ts';
import { NOW, openStore, type TestStore } from '../../store/stores.ts';
import { refusal } from '../../support/refusal.ts';
import { engines } from '../../support/service.ts';
import { enginesWhenChanged } from '../../support/when-changed.ts';
import { depsAt } from '../deps.ts';
import { decidedBy, QUIET } from '../group.ts';
import { untimed } from './untimed.ts';

const MINUTE = 60_000;
const RULES = [
  { tool: 'look', action: 'allow' as const },
  { tool: '*', action: 'require_approval' as const },
];

type Answer = Verdict | GuardError;
const outcome = (answer: Answer | undefined): string =>
  answer instanceof GuardError ? answer.code : (answer?.decision ?? 'no answer');
/** What is told of the approval that was named, wherever the surface shows it. */
const told = (answer: Answer): string =>
  answer instanceof GuardError ? answer.code : `${answer.reason} ${answer.message ?? ''}`;
const referenceOf = (answer: Answer): string => (answer as Verdict).referenceId ?? '';

/** Where all tests run. Those in which the engine has a part of its own come first, and run on both. */
const whole = await enginesWhenChanged('src/store/**', 'src/guard/check/**');
for (const engine of await engines()) {
  describe(engine, () => {
    let store: TestStore;
    let now: number;
    let deps: Deps;
    let keyId: string;
    let otherKeyId: string;
    beforeEach(async () => {
      store = await openStore(engine);
      now = NOW;
      deps = depsAt(store.db, () => now);
      keyId = await newKey();
      otherKeyId = await newKey();
    });
    afterEach(() => store.close());

    const under = (settings: Partial<GuardSettings>): void => {
      deps = { ...deps, settings: { ...deps.settings, ...settings } };
    };

    async function newKey(
      notify: KeyNotify | null = null,
      expiresAt: number | null = null,
      rules: readonly Rule[] = RULES,
    ) {
      const name = newId();
      const policy = await createPolicy(deps, 'admin', { name, description: '', rules });
      const input = { name, policyId: policy.id, requireSignInToApprove: false, expiresAt, notify };
      return (await createKey(deps, 'admin', { ...input, forward: [] })).key.id;
    }

    const principal = (sessionId: string | null = null, key = keyId) => ({
      kind: sessionId === null ? ('key' as const) : ('session' as const),
      keyId: key,
      sessionId,
      scope: null,
    });
    const newSession = async (ttlMinutes = 60): Promise<string> =>
      (await mintSession(deps, principal(), { label: '', ttlMinutes, scopeTools: null })).session.id;

    const request = (more: Partial<CheckRequest> = {}): CheckRequest => ({
      principal: principal(),
      surface: 'check',
      call: { serverName: 'prod', toolName: 'deploy' },
      args: { target: 'blue' },
      referenceId: null,
      startedAt: performance.now(),
      ...more,
    });

    /** All of them in one group. */
    const judged = (...requests: CheckRequest[]): Promise<Answer[]> =>
      decidedBy(store.db, untimed(deps), requests) as Promise<Answer[]>;
    const outcomes = async (...requests: CheckRequest[]) => (await judged(...requests)).map(outcome);
    const one = async (more: Partial<CheckRequest>): Promise<Answer> =>
      (await judged(request(more)))[0] as Answer;

    const approve = (referenceId: string, grantMs: number | null = null) =>
      resolveByOperator(deps, 'admin', referenceId, { action: 'approve', grantMs });
    /** Asks for a call, and has it approved. */
    async function approved(more: Partial<CheckRequest> = {}, grantMs: number | null = null) {
      const asked = await one(more);
      expect(outcome(asked)).toBe('pending');
      await approve(referenceOf(asked), grantMs);
      return referenceOf(asked);
    }

    test('every verdict has its entry, with the approval that it rests on or asks for', async () => {
      const look = request({ call: { serverName: 'prod', toolName: 'look' } });
      const referenceId = await approved();
      const answers = await judged(look, request({ referenceId }), request({ args: 2 }));
      const rows = await store.db.all<{ id: string; decision: string; reference: string | null }>(
        'SELECT id, decision, reference_id AS reference FROM audit ORDER BY id DESC LIMIT 3',
      );
      const [first, second, third] = answers as [Verdict, Verdict, Verdict];
      expect(rows.reverse()).toEqual([
        { id: first.toolCallId, decision: 'allow', reference: null },
        { id: second.toolCallId, decision: 'allow', reference: referenceId },
        { id: third.toolCallId, decision: 'pending', reference: third.referenceId ?? '' },
      ]);
    });

    test('a key whose policy is lost gets no verdict, and others do', async () => {
      await store.db.run(
        'DELETE FROM policy_versions WHERE policy_id = (SELECT policy_id FROM keys WHERE id = $1)',
        [otherKeyId],
      );
      const look = { call: { serverName: 'prod', toolName: 'look' } };
      expect(
        await outcomes(request({ ...look, principal: principal(null, otherKeyId) }), request(look)),
      ).toEqual(['audit_failed', 'allow']);
    });

    if (!whole.includes(engine)) return;

    test('calls that keep conditions busy are left for the next group, and other keys do not wait for them', async () => {
      const when = 'args.list.all(x, args.list.all(y, x == y))';
      const rules = [{ tool: '*', action: 'allow' as const, when }];
      const policy = await createPolicy(deps, 'admin', { name: 'busy', description: '', rules });
      await changeKey(deps, 'admin', keyId, { policyId: policy.id });
      await changeKey(deps, 'admin', otherKeyId, { policyId: policy.id });
      const busy = Array.from({ length: 20 }, () => request({ args: { list: new Array(100).fill(1) } }));
      const other = request({ principal: principal(null, otherKeyId), args: { list: [1] } });
      const answers: unknown[] = await judged(...busy, other);
      const left = answers.filter(each => each === LATER);
      expect(outcome(answers.at(-1) as Answer)).toBe('allow');
      expect(answers.slice(0, 3).map(each => outcome(each as Answer))).toEqual(['deny', 'deny', 'deny']);
      expect(left.length).toBeGreaterThan(10);
      expect(answers.slice(20 - left.length, 20)).toEqual(left);
    });

    describe('calls that ask for approval', () => {
      /** Digests take the times that a test gives them, by a clock that only they move. */
      class SlowVault extends Vault {
        now = 0;
        digestMs = 0;
        questionMs = 0;
        override callDigest(call: Parameters<Vault['callDigest']>[0]): string {
          this.now += this.digestMs;
          return super.callDigest(call);
        }
        override valueKey(approvalId: string): Uint8Array {
          this.now += this.questionMs;
          return super.valueKey(approvalId);
        }
      }
      const slowWork = () => {
        const vault = new SlowVault(new Uint8Array(32));
        return { vault, work: new CheckWork({ ...deps, vault }, newMemory(), false, () => vault.now) };
      };
      const decided = async (work: CheckWork, requests: CheckRequest[]): Promise<unknown[]> =>
        decidedBy(store.db, work, requests);
      const shown = (answers: unknown[]) =>
        answers.map(each => (each === LATER ? 'later' : outcome(each as Answer)));
      const calls = (count: number, key = keyId) =>
        Array.from({ length: count }, (_, n) => request({ principal: principal(null, key), args: { n } }));
      const look = () => request({ call: { serverName: 'prod', toolName: 'look' } });

      test('have a slice of time for their digests; keys take turns, and other calls do not wait', async () => {
        const { vault, work } = slowWork();
        vault.digestMs = 1;
        const requests = [...calls(6), look(), ...calls(1, otherKeyId)];
        expect(shown(await decided(work, requests))).toEqual([
          ...['pending', 'pending', 'pending', 'later', 'later', 'later'],
          'allow',
          'pending',
        ]);
        // What was computed is not computed again.
        expect(shown(await decided(work, requests.slice(3, 6)))).toEqual(['pending', 'pending', 'pending']);
        expect(vault.now).toBe(7);
      });

      test('have a slice of time for their questions, too', async () => {
        const { vault, work } = slowWork();
        vault.questionMs = 3;
        expect(shown(await decided(work, [...calls(3), look()]))).toEqual([
          'pending',
          'pending',
          'later',
          'allow',
        ]);
        vault.questionMs = 1000;
        expect(shown(await decided(work, calls(2, otherKeyId)))).toEqual(['pending', 'later']);
      });

      test('of one key are decided, whatever those of others cost and however many come before them', async () => {
        const { vault, work } = slowWork();
        const third = await newKey();
        vault.questionMs = 1000;
        const [wanted] = calls(1, third) as [CheckRequest];
        let left: CheckRequest[] = [wanted];
        for (let group = 0; group < 3; group++) {
          const requests = [...calls(2), ...calls(2, otherKeyId), ...left];
          const answers = await decided(work, requests);
          expect(answers.filter(each => each !== LATER).length).toBe(1);
          left = requests.filter((_, index) => answers[index] === LATER);
        }
        expect(left).not.toContain(wanted);
      });

      test('with large arguments have their digests outside of the transaction, and are bound to the same', async () => {
        const inside = new AsyncLocalStorage<true>();
        const digested: boolean[] = [];
        const vault = new (class extends Vault {
          override callDigest(call: Parameters<Vault['callDigest']>[0]): string {
            digested.push(inside.getStore() === true);
            return super.callDigest(call);
          }
        })(new Uint8Array(32).fill(7));
        const work = new (class extends CheckWork {
          override decideGroup(...given: Parameters<CheckWork['decideGroup']>) {
            return inside.run(true, () => super.decideGroup(...given));
          }
        })({ ...deps, vault });
        const commit = new GroupCommit(store.db, work, 100, QUIET);
        const members = Object.fromEntries(Array.from({ length: 600 }, (_, n) => [`k${n}`, n]));
        const large = [members, { list: [[members]] }, { text: 'x'.repeat(70_000) }].map(args =>
          request({ args }),
        );
        large.push(request({ continuation: members }));
        const answers = [
          ...(await commit.submitAll(large.slice(1))),
          await commit.submit(large[0] as CheckRequest),
        ];
        expect(answers.map(outcome)).toEqual(['pending', 'pending', 'pending', 'pending']);
        expect(digested).toEqual([false, false, false, false]);
        expect(outcome(await commit.submit(request()))).toBe('pending');
        expect(digested).toEqual([false, false, false, false, true]);
        const referenceId = referenceOf(answers[3] as Answer);
        await approve(referenceId);
        const named = (args: Json) => commit.submit(request({ args, referenceId }));
        expect(outcome(await named({ ...members, k0: 1 }))).toBe('pending');
        expect(outcome(await named({ ...members }))).toBe('allow');
      });
    });

    describe('an approval', () => {
      test('frees the very call that it was asked for, once', async () => {
        const referenceId = await approved();
        expect(outcome(await one({ referenceId }))).toBe('allow');
        const again = await one({ referenceId });
        expect([outcome(again), told(again)]).toEqual([
          'pending',
          expect.stringContaining('it has been used'),
        ]);
      });

      test('frees no other call, and is not used up by one that names it', async () => {
        const referenceId = await approved();
        const session = await newSession();
        const CALLS: [Partial<CheckRequest>, string][] = [
          [{ principal: principal(null, otherKeyId) }, 'there is none with this id'],
          [{ call: { serverName: 'prod', toolName: 'destroy' } }, 'it is for another tool'],
          [{ call: { serverName: 'test', toolName: 'deploy' } }, 'it is for another tool'],
          [{ args: { target: 'green' } }, 'it is for other arguments'],
          [{ args: undefined }, 'it is for other arguments'],
          [{ continuation: { more: true } }, 'it is for other arguments'],
          [{ surface: 'mcp' }, 'it was asked for on check, and this is mcp'],
          [{ surface: 'mcp', principal: principal(session) }, 'it was asked for on check, and this is mcp'],
        ];
        for (const [call, why] of CALLS) {
          const answer = await one({ ...call, referenceId });
          expect([outcome(answer), told(answer)]).toEqual(['pending', expect.stringContaining(why)]);
        }
        const unknown = await one({ referenceId: newId() });
        expect(told(unknown)).toContain('there is none with this id');
        expect(told(await one({}))).not.toContain('there is none');
        // One that belongs to the key is free to be spent by any of its sessions that names it.
        expect(outcome(await one({ referenceId, principal: principal(session) }))).toBe('allow');
      });

      test('arguments are read no more often, however many approvals a call is compared with', async () => {
        for (const target of ['red', 'green', 'white']) await approved({ surface: 'mcp', args: { target } });
        const referenceId = await approved();
        let reads = 0;
        const args = (target: string) => ({
          get target() {
            reads++;
            return target;
          },
        });
        const mcp = ['white', 'black', 'red'].map(target => request({ surface: 'mcp', args: args(target) }));
        const named = request({ referenceId, args: args('yellow') });
        expect(await outcomes(...mcp, named)).toEqual(['allow', 'pending', 'allow', 'pending']);
        // Each is read once to see how large it is, and once for its digest; those of the two questions once more for
        // their values, which a grant may be bound to.
        expect(reads).toBe(10);
      });

      test('frees one of two calls in the same group', async () => {
        const referenceId = await approved();
        const [first, second] = await judged(request({ referenceId }), request({ referenceId }));
        expect([outcome(first), outcome(second)]).toEqual(['allow', 'pending']);
        expect(told(second as Answer)).toContain('it has been used');
        await approved({ surface: 'mcp' });
        const mcp = request({ surface: 'mcp' });
        expect(await outcomes(mcp, mcp)).toEqual(['allow', 'pending']);
      });

      test('is found unnamed on /mcp only, and by the very credential that asked', async () => {
        const sessions = [await newSession(), await newSession()];
        const asked = { surface: 'mcp' as const, principal: principal(sessions[0]) };
        await approved(asked);
        await approved();
        expect(await outcomes(request())).toEqual(['pending']);
        expect(
          await outcomes(
            request({ surface: 'mcp' }),
            request({ surface: 'mcp', principal: principal(sessions[1]) }),
            request({ surface: 'mcp', principal: principal(null, otherKeyId) }),
            request({ ...asked, args: { target: 'green' } }),
            request(asked),
          ),
        ).toEqual(['pending', 'pending', 'pending', 'pending', 'allow']);
      });

      test('is asked for once by two calls of the same group on /mcp, and by each check for itself', async () => {
        const [mcp, repeated] = await judged(request({ surface: 'mcp' }), request({ surface: 'mcp' }));
        expect(referenceOf(repeated as Answer)).toBe(referenceOf(mcp as Answer));
        const [check, another] = await judged(request(), request());
        expect(referenceOf(another as Answer)).not.toBe(referenceOf(check as Answer));
      });

      test('is good for its time after the answer, to the millisecond', async () => {
        const [early, late] = [await approved(), await approved({ args: 2 })];
        now += deps.settings.approvedFor - 1;
        expect(outcome(await one({ referenceId: early }))).toBe('allow');
        now += 1;
        const answer = await one({ referenceId: late, args: 2 });
        expect([outcome(answer), told(answer)]).toEqual([
          'pending',
          expect.stringContaining('it was approved too long ago'),
        ]);
      });

      test('frees nothing once it was withdrawn, nor before it was given', async () => {
        const referenceId = await approved();
        await withdraw(deps, 'admin', referenceId);
        expect(told(await one({ referenceId }))).toContain('it was withdrawn');
        const asked = referenceOf(await one({}));
        expect(told(await one({ referenceId: asked }))).toContain('nobody has answered it yet');
      });
    });

    describe('a grant', () => {
      test('frees every call of its tool until its very end', async () => {
        await approved({}, MINUTE);
        const calls = [request(), request({ args: 2 }), request({ surface: 'mcp' })];
        expect(await outcomes(...calls)).toEqual(['allow', 'allow', 'allow']);
        now += MINUTE - 1;
        expect(await outcomes(...calls)).toEqual(['allow', 'allow', 'allow']);
        now += 1;
        expect(await outcomes(...calls)).toEqual(['pending', 'pending', 'pending']);
      });

      test('frees no call of another tool, server or key', async () => {
        await approved({}, MINUTE);
        expect(
          await outcomes(
            request({ call: { serverName: 'prod', toolName: 'destroy' } }),
            request({ call: { serverName: 'test', toolName: 'deploy' } }),
            request({ principal: principal(null, otherKeyId) }),
          ),
        ).toEqual(['pending', 'pending', 'pending']);
      });
    });

    describe('the number of open approvals', () => {
      const calls = (count: number, more: Partial<CheckRequest> = {}) =>
        Array.from({ length: count }, (_, n) => request({ args: n, ...more }));

      test('is bounded for a session, within a group and over several', async () => {
        under({ maxOpenApprovalsPerSession: 3 });
        const [first, second] = [await newSession(), await newSession()];
        const ofFirst = { principal: principal(first) };
        expect(await outcomes(...calls(2, ofFirst))).toEqual(['pending', 'pending']);
        const [third, fourth] = await judged(...calls(2, ofFirst));
        expect([outcome(third), outcome(fourth)]).toEqual(['pending', 'deny']);
        expect(told(fourth as Answer)).toContain('this session already has 3 open approvals');
        expect(await outcomes(...calls(4, { principal: principal(second) }))).toEqual([
          'pending',
          'pending',
          'pending',
          'deny',
        ]);
        expect(await outcomes(...calls(1))).toEqual(['pending']);
      });

      test('is bounded for a key with all its sessions', async () => {
        under({ maxOpenApprovalsPerKey: 3 });
        const session = await newSession();
        expect(await outcomes(...calls(2, { principal: principal(session) }))).toEqual([
          'pending',
          'pending',
        ]);
        const [third, fourth] = await judged(...calls(2));
        expect([outcome(third), outcome(fourth)]).toEqual(['pending', 'deny']);
        expect(told(fourth as Answer)).toContain('this key already has 3 open approvals');
        expect(await outcomes(...calls(1, { principal: principal(null, otherKeyId) }))).toEqual(['pending']);
        // Those that lapsed are not open any more, whether or not anybody noticed.
        now += deps.settings.approvalTimeout - 1;
        expect(await outcomes(...calls(1))).toEqual(['deny']);
        now += 1;
        expect(await outcomes(...calls(1))).toEqual(['pending']);
      });
    });

    describe('a credential', () => {
      const look = { call: { serverName: 'prod', toolName: 'look' } };

      test('of a key ends with it, to the millisecond', async () => {
        await changeKey(deps, 'admin', keyId, { expiresAt: NOW + MINUTE });
        const session = await newSession(60);
        const both = [request(look), request({ ...look, principal: principal(session) })];
        now = NOW + MINUTE - 1;
        expect(await outcomes(...both)).toEqual(['allow', 'allow']);
        now += 1;
        expect(await outcomes(...both)).toEqual(['unauthenticated', 'unauthenticated']);
      });

      test('of a session ends by itself, to the millisecond, and its key goes on', async () => {
        const session = await newSession(1);
        const both = [request(look), request({ ...look, principal: principal(session) })];
        now = NOW + MINUTE - 1;
        expect(await outcomes(...both)).toEqual(['allow', 'allow']);
        now += 1;
        expect(await outcomes(...both)).toEqual(['allow', 'unauthenticated']);
      });

      test('that is revoked or unknown fails its own call and no other of the group', async () => {
        const [gone, kept] = [await newSession(), await newSession()];
        await endSession(deps, principal(), gone);
        await endKey(deps, 'admin', otherKeyId);
        expect(
          await outcomes(
            request(look),
            request({ ...look, principal: principal(gone) }),
            request({ ...look, principal: principal(kept) }),
            request({ ...look, principal: principal(newId()) }),
            request({ ...look, principal: principal(null, otherKeyId) }),
            request({ ...look, principal: principal(null, newId()) }),
          ),
        ).toEqual([
          'allow',
          'unauthenticated',
          'allow',
          'unauthenticated',
          'unauthenticated',
          'unauthenticated',
        ]);
      });
    });

    describe('a tool whose definition changes', () => {
      let connectedTool: ConnectedTool;
      beforeEach(async () => {
        const input = { name: 'prod', transport: 'stdio' as const, target: 'x', headers: null };
        connectedTool = await connectTool(deps, 'admin', { allowPrivate: true }, keyId, input);
        await shows('one');
      });

      const shows = (description: string, toolName = 'deploy') =>
        compareDefinitions(deps, connectedTool, [{ toolName, definition: { description } }]);
      const run = (more: Partial<CheckRequest> = {}) => request({ connectedTool, surface: 'mcp', ...more });
      const look = (more: Partial<CheckRequest> = {}) =>
        run({ call: { serverName: 'prod', toolName: 'look' }, ...more });

      for (const [toolDrift, wanted] of [
        ['deny', 'deny'],
        ['require_approval', 'pending'],
        ['allow', 'allow'],
      ] as const) {
        test(`is met with ${wanted} under ${toolDrift}, and so is one that nobody has seen`, async () => {
          under({ toolDrift });
          expect(await outcomes(look())).toEqual([wanted]);
          await shows('as accepted', 'look');
          expect(await outcomes(look())).toEqual(['allow']);
          await shows('another', 'look');
          // Where the service does not run the call itself, it knows of no definition.
          expect(await outcomes(look(), look({ connectedTool: undefined as never }))).toEqual([
            wanted,
            'allow',
          ]);
          await shows('as accepted', 'look');
          expect(await outcomes(look())).toEqual(['allow']);
        });
      }

      test('is not freed by an approval of what it was', async () => {
        const referenceId = await approved(run());
        await shows('two');
        const answer = (await judged(run({ referenceId })))[0] as Answer;
        expect([outcome(answer), told(answer)]).toEqual([
          'pending',
          expect.stringContaining('the definition of the tool has changed since'),
        ]);
        expect(await outcomes(run())).toEqual(['pending']);
        await shows('one');
        expect(await outcomes(run({ referenceId }))).toEqual(['allow']);
      });

      test('is freed by an approval that was asked for with what it shows now', async () => {
        under({ toolDrift: 'require_approval' });
        await shows('two');
        const referenceId = await approved(run());
        await shows('three');
        expect(await outcomes(run({ referenceId }))).toEqual(['pending']);
        await shows('two');
        expect(await outcomes(run({ referenceId }))).toEqual(['allow']);
      });

      test('where people are shown different ones, each call is decided by what its caller is shown', async () => {
        under({ toolDrift: 'require_approval' });
        const looks = (value: string) =>
          run({
            call: { serverName: 'prod', toolName: 'look' },
            shownDigest: definitionDigest({ description: value }),
            shownLook: lookAt({ description: value }),
          });
        await shows('one', 'look');
        expect(await outcomes(looks('one'), looks('two'))).toEqual(['allow', 'pending']);
        // What another person is shown neither holds nor frees a call.
        await shows('two', 'look');
        expect(await outcomes(looks('one'), looks('two'))).toEqual(['allow', 'pending']);
        const referenceId = await approved({ ...looks('two'), args: { other: 1 } });
        expect(await outcomes({ ...looks('three'), args: { other: 1 }, referenceId })).toEqual(['pending']);
        expect(await outcomes({ ...looks('two'), args: { other: 1 }, referenceId })).toEqual(['allow']);
      });

      test('is freed by a grant only if that was asked for with what it shows now', async () => {
        under({ toolDrift: 'require_approval' });
        await approved(run(), MINUTE);
        expect(await outcomes(run())).toEqual(['allow']);
        await shows('two');
        await approved(run(), MINUTE);
        expect(await outcomes(run())).toEqual(['allow']);
        await shows('three');
        expect(await outcomes(run())).toEqual(['pending']);
      });

      test('is not freed by what was asked for where no definition was known', async () => {
        under({ toolDrift: 'require_approval' });
        const unknown = run({ connectedTool: undefined as never });
        await approved(unknown, MINUTE);
        const referenceId = await approved({ ...unknown, call: { serverName: 'prod', toolName: 'other' } });
        await shows('one', 'other');
        await shows('two', 'other');
        await shows('two');
        expect(
          await outcomes(run(), run({ referenceId, call: { serverName: 'prod', toolName: 'other' } })),
        ).toEqual(['pending', 'pending']);
        await shows('one');
        await shows('one', 'other');
        expect(
          await outcomes(run(), run({ referenceId, call: { serverName: 'prod', toolName: 'other' } })),
        ).toEqual(['allow', 'allow']);
      });
    });

    test('a call that will not be sent is decided, and spends neither an approval nor a grant', async () => {
      const unsent = {
        call: { serverName: 'prod', toolName: 'deploy', unsent: true as const },
        surface: 'mcp' as const,
      };
      const referenceId = await approved({ surface: 'mcp' });
      const [allowed] = (await judged(request(unsent))) as [Verdict];
      expect([allowed.decision, allowed.reason]).toEqual([
        'allow',
        expect.stringContaining(`freed by approval ${referenceId}`),
      ]);
      expect(await outcomes(request({ surface: 'mcp' }), request({ surface: 'mcp' }))).toEqual([
        'allow',
        'pending',
      ]);
      expect(await outcomes(request({ ...unsent, args: {} }))).toEqual(['pending']);
    });

    test('the link of a pending call goes through the key’s own channels, or through the service’s if it has none', async () => {
      under({ defaultChannels: ['terminal'] });
      const KEYS: [KeyNotify | null, string[]][] = [
        [null, ['terminal']],
        [{}, ['terminal']],
        [{ emails: [] }, ['terminal']],
        [{ emails: ['a@example.com'] }, ['email']],
        [{ slackWebhookUrl: 'https://hooks.example/' }, ['slack']],
        [{ url: 'https://hooks.example/' }, ['http']],
        [{ emails: ['a@example.com'], url: 'https://hooks.example/' }, ['email', 'http']],
      ];
      for (const [notify, channels] of KEYS) {
        const key = await newKey(notify);
        await one({ principal: principal(null, key) });
        const rows = await store.db.all<{ channel: string }>(
          'SELECT channel FROM notifications WHERE key_id = $1 ORDER BY channel',
          [key],
        );
        expect(rows.map(row => row.channel)).toEqual(channels);
      }
    });

    test('a rule’s channels replace the key’s, its escalation is due later, and its time-out ends the question', async () => {
      const url = 'https://hooks.example/';
      under({
        defaultChannels: ['email', 'slack'],
        channels: {
          ops: { type: 'teams', url, details: false },
          'on-call': { type: 'http', url, details: true },
        },
      });
      const rule = { tool: '*', action: 'require_approval' as const };
      const escalate = { after: '10m', notify: ['on-call', 'ops'] };
      const CASES: [notify: KeyNotify | null, Partial<Rule>, told: string[]][] = [
        [null, {}, ['0 email', '0 slack']],
        [['ops', 'default', 'ops'], {}, ['0 email default', '0 slack default', '0 teams ops']],
        [{ url }, { notify: ['ops'] }, ['0 teams ops']],
        [['on-call'], { notify: ['default'] }, ['0 email default', '0 slack default']],
        // The question ends when they would be told. The setting was longer when the policy was saved.
        [{ url }, { escalate }, ['0 http']],
        [{ url }, { escalate, timeout: '11m' }, ['0 http', '600000 http on-call', '600000 teams ops']],
      ];
      for (const [notify, more, told] of CASES) {
        under({ approvalTimeout: 11 * MINUTE });
        const key = await newKey(notify, null, [{ ...rule, ...more }]);
        under({ approvalTimeout: 10 * MINUTE });
        await one({ principal: principal(null, key) });
        const rows = await store.db.all<{ told: string; ends: number }>(
          `SELECT (n.next_attempt_at - n.created_at) || ' ' || n.channel || COALESCE(' ' || n.channel_name, '') AS told,
             a.expires_at - a.created_at AS ends
           FROM notifications n JOIN approvals a ON a.id = n.approval_id WHERE n.key_id = $1`,
          [key],
        );
        expect(rows.map(row => row.told).sort()).toEqual(told);
        expect(rows[0]?.ends).toBe(parseDuration(more.timeout ?? '') ?? deps.settings.approvalTimeout);
      }
    });

    test('a channel that was removed later is told to nobody, and everything else goes on', async () => {
      under({ channels: { ops: { type: 'teams', url: 'https://hooks.example/', details: false } } });
      const key = await newKey(['ops']);
      under({ channels: {}, defaultChannels: ['terminal'] });
      expect(outcome(await one({ principal: principal(null, key) }))).toBe('pending');
      const rows = await store.db.all(
        'SELECT channel, channel_name AS name FROM notifications WHERE key_id = $1',
        [key],
      );
      expect(rows).toEqual([{ channel: 'unknown', name: 'ops' }]);
      expect(await refusal(changeKey(deps, 'admin', key, { notify: ['ops'] }))).toMatchObject({
        code: 'invalid_input',
        message: '/notify/0: there is no channel "ops" under channels in the server file (toolgate.yaml).',
      });
      // What does not touch it can still be changed.
      await changeKey(deps, 'admin', key, { name: 'renamed' });
    });

    test('a pending verdict says that nothing was run, and on /mcp why the approval that the call names does not free it', async () => {
      const { message, latencyMs } = (await one({ referenceId: newId() })) as Verdict;
      expect(message).toMatch(/^This is not the final outcome: .* webhook with this referenceId\.$/);
      const begun = performance.now();
      const named = (await one({ surface: 'mcp', referenceId: newId() })) as Verdict;
      expect(named.message).toContain('Repeat the call once it is approved. The approval that was named');
      const repeated = ((await one({ surface: 'mcp' })) as Verdict).message;
      expect(repeated).toMatch(/^This is not the final outcome: .* Repeat the call once it is approved\.$/);
      expect(latencyMs).toBeGreaterThanOrEqual(0);
      expect(named.latencyMs).toBeLessThanOrEqual(Math.ceil(performance.now() - begun));
    });

    // PostgreSQL wakes its listeners for its own reasons, too.
    test.if(engine === 'sqlite')(
      'a call that is held wakes whoever asks, and so does the answer',
      async () => {
        let woken = 0;
        store.db.onWake(() => woken++);
        const work = new CheckWork(deps);
        const wakes = async (work: Promise<unknown>) => {
          const before = woken;
          await work;
          // Listeners are called in a turn of their own.
          await Bun.sleep(0);
          return woken - before;
        };
        const committed = (...requests: CheckRequest[]) => decidedBy(store.db, work, requests);
        const look = { call: { serverName: 'prod', toolName: 'look' } };
        const dead = { principal: principal(null, newId()) };
        expect(await wakes(committed(request(look), request(dead)))).toBe(0);
        const holding = committed(request(look), request());
        expect(await wakes(holding)).toBe(1);
        const referenceId = referenceOf((await holding)[1] as Answer);
        const answer = () =>
          resolveByOperator(deps, 'admin', referenceId, { action: 'approve', grantMs: null });
        expect(await wakes(answer())).toBe(1);
        expect(await wakes(refusal(answer()))).toBe(0);
      },
    );

    test('a key whose settings cannot be read fails its own pending calls, and nobody else’s', async () => {
      const broken = await newKey({ emails: ['a@example.com'] });
      await store.db.run("UPDATE keys SET notify_sealed = 'damaged' WHERE id = $1", [broken]);
      const theirs = { principal: principal(null, broken) };
      expect(
        await outcomes(
          request(theirs),
          request({ ...theirs, call: { serverName: 'prod', toolName: 'look' } }),
          request(),
        ),
      ).toEqual(['audit_failed', 'allow', 'pending']);
    });
  });
}
