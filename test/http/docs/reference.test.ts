import { expect, test } from 'bun:test';
import { referenceRoutes } from '../../../src/http/docs/reference.ts';

test('the reference is made once, however often strangers ask for it', async () => {
  let made = 0;
  const routes = referenceRoutes(() => {
    made++;
    return [];
  });
  const incoming = { services: { version: '1.2.3' }, query: {} } as never;
  for (const route of routes) {
    const [first, second] = [await route.handle(incoming), await route.handle(incoming)];
    expect(await second.text()).toBe(await first.text());
    expect(second.headers.get('content-type')).toBe(first.headers.get('content-type'));
    expect(first.headers.get('content-type')).not.toBeNull();
  }
  expect(made).toBe(routes.length);
});
