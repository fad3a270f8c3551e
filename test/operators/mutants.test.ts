// The tests of operators would notice: each mutant takes one protection away, and the very probe that holds on
// the real source fails on it.

import { describe, expect, test } from 'bun:test';
import { ASK_ALL, type Gate, openGate } from '../approvals/gate.ts';
import { withMutant } from '../support/faults.ts';
import type { Patch } from '../support/mutant.ts';
import { whenChanged } from '../support/when-changed.ts';
import { newAddress, newPerson, OWN, PASSWORD, send, signIn } from './people.ts';

interface Case {
  patch: Patch;
  /** Whether the protection holds. */
  holds: (gate: Gate) => Promise<boolean>;
}

const CASES: Record<string, Case> = {
  'changes from foreign pages': {
    patch: {
      file: 'src/http/serving/auth.ts',
      find: "if (!SAFE_METHODS.includes(request.method)) requireSender(services.config, request, 'own page');",
      replace: '',
    },
    holds: async ({ service }) => {
      const { cookie } = await newPerson(service, 'admin');
      const headers = { Origin: 'https://evil.example' };
      const body = { name: 'p', rules: [] };
      return (await send(service, 'POST', '/admin/v1/policies', { cookie, headers }, body)).status === 403;
    },
  },
  'a role that is too little': {
    patch: { file: 'src/http/serving/auth.ts', find: '  requireRole(signedIn, needed);\n', replace: '' },
    // Of a change, the role is looked at again in its transaction.
    holds: async ({ service }) => {
      const { cookie } = await newPerson(service, 'user');
      return (await send(service, 'GET', '/admin/v1/policies', { cookie })).status === 403;
    },
  },
  'a viewer’s answer by link': {
    patch: {
      file: 'src/guard/approvals/approvers.ts',
      find: "roleFault(who, 'approver')",
      replace: "roleFault(who, 'viewer')",
    },
    holds: async gate => {
      const { cookie } = await newPerson(gate.service, 'viewer');
      const { token } = await gate.ask(await gate.key(ASK_ALL, { requireSignInToApprove: true }));
      return (await gate.answer(token, { action: 'approve' }, { Cookie: cookie })).status === 403;
    },
  },
  'attempts that come all at once': {
    patch: {
      file: 'src/guard/people/throttle.ts',
      find: '    await insertFailure(tx, { id: newId(), account, ip, at });\n',
      replace:
        '    setTimeout(() => deps.db.transaction({}, late => insertFailure(late, { id: newId(), account, ip, at })), 60_000).unref();\n',
    },
    holds: async ({ service }) => {
      const ip = newAddress();
      const all = Array.from({ length: 8 }, () => signIn(service, 'ada@example.com', 'wrong', { ip }));
      return (await Promise.all(all)).filter(each => each.status === 429).length === 3;
    },
  },
  'a deleted operator’s sign-in': {
    patch: {
      file: 'src/guard/people/operators.ts',
      find: "    await endWaysIn('The person was removed.', 'identities');\n    await removeOperator(tx, id);\n",
      replace: '',
    },
    holds: async ({ service }) => {
      const { id, email } = await newPerson(service, 'viewer');
      await service.admin('DELETE', `/operators/${id}`);
      return (await signIn(service, email, PASSWORD)).status === 401;
    },
  },
  'a way back that works once': {
    patch: {
      file: 'src/store/sign-ins.ts',
      find: 'DELETE FROM return_targets WHERE hash = $1 AND expires_at > $2 RETURNING',
      replace: 'UPDATE return_targets SET hash = hash WHERE hash = $1 AND expires_at > $2 RETURNING',
    },
    holds: async gate => {
      const { email } = await newPerson(gate.service, 'approver');
      const { token } = await gate.ask(await gate.key(ASK_ALL, { requireSignInToApprove: true }));
      const away = (await gate.open(token)).headers.get('location') ?? '';
      const next = new URL(away, gate.service.url).searchParams.get('continue') ?? '';
      const back = async () =>
        (
          await gate.service.request('POST', '/dashboard/sign-in', {
            headers: { ...OWN, 'Content-Type': 'application/x-www-form-urlencoded' },
            body: new URLSearchParams({ email, password: PASSWORD, continue: next }).toString(),
          })
        ).headers.get('location');
      return (await back()) === `/v1/approve/${token}` && (await back()) === '/dashboard';
    },
  },
};

async function probe(holds: Case['holds'], root?: string): Promise<boolean> {
  const gate = await openGate(root === undefined ? {} : { root });
  try {
    return await holds(gate);
  } finally {
    await gate.close();
  }
}

describe.each(Object.entries(CASES))('%s', (_, { patch, holds }) => {
  test('holds', async () => {
    expect(await probe(holds)).toBe(true);
  });

  whenChanged(patch)('its absence is found out', async () => {
    expect(await withMutant([patch], root => probe(holds, root))).toBe(false);
  });
});
