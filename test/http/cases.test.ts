// The shared decision cases through POST /v1/check, on both engines; the rule's index as the audit log
// tells it.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type CaseFile, caseFiles, caseTitle } from '../support/cases.ts';
import { engines, startService, type TestService } from '../support/service.ts';

async function credential(service: TestService, { policy, session }: CaseFile): Promise<string> {
  const made = await service.admin('POST', '/policies', policy);
  expect(made.status).toBe(201);
  const { key } = (await service.admin('POST', '/keys', { name: policy.name, policyId: made.body.id })).body;
  if (session === undefined) return key;
  return (await service.json('POST', '/v1/sessions', key, session)).body.token;
}

for (const engine of await engines()) {
  describe(engine, () => {
    let service: TestService;
    beforeAll(async () => {
      service = await startService({ engine });
    });
    afterAll(() => service.close());

    for (const file of caseFiles()) {
      test(file.file, async () => {
        const token = await credential(service, file);
        for (const call of file.calls) {
          const { decision, reason, ruleIndex } = call.want;
          const more = call.args === undefined ? {} : { args: call.args };
          const { status, body } = await service.check(token, call.server, call.tool, more);
          const what = caseTitle(call);
          expect([what, status, body.decision]).toEqual([what, 200, decision]);
          if (reason !== undefined) expect(body.reason).toBe(reason);
          const [entry] = (await service.admin('GET', '/audit?limit=1')).body.entries;
          expect([what, entry.id]).toEqual([what, body.toolCallId]);
          if (ruleIndex !== undefined) expect([what, entry.ruleIndex]).toEqual([what, ruleIndex]);
          expect(entry).toMatchObject({
            serverName: call.server,
            toolName: call.tool,
            decision,
            reason: body.reason,
            policyId: body.policyId,
            referenceId: body.referenceId ?? null,
          });
        }
      });
    }
  });
}
