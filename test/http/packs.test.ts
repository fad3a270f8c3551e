// GET /admin/v1/packs: the packs of this program, each of which the service takes as a policy.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { wantsFolder, withFolder } from '../../src/core/policy-file/pack-folder.ts';
import { PACKS } from '../../src/core/policy-file/packs.ts';
import { newPerson } from '../operators/people.ts';
import { startService, type TestService } from '../support/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

test('all packs, for whoever may look', async () => {
  const reply = await service.admin('GET', '/packs');
  expect(reply.status).toBe(200);
  expect(reply.body).toEqual({ packs: PACKS });
  const { cookie } = await newPerson(service, 'viewer');
  const seen = await fetch(`${service.url}/admin/v1/packs`, { headers: { cookie } });
  expect([seen.status, await seen.json()]).toEqual([200, { packs: PACKS }]);
});

test('each is taken, comments included, once it has its folder', async () => {
  for (const { name, text: pack, title } of PACKS) {
    if (wantsFolder(pack))
      expect((await service.admin('POST', '/policies', { text: pack })).status).toBe(400);
    const text = withFolder(pack, '/home/ann/project');
    const made = await service.admin('POST', '/policies', { text });
    expect([name, made.status]).toEqual([name, 201]);
    const { body } = await service.admin('GET', `/policies/${made.body.id}`);
    expect(body).toMatchObject({ name, description: title, text });
  }
});
