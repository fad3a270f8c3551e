// A response body that is made while the client reads it, so that only one page of a long list is in memory. A client may
// read slowly, so the sign-in is looked at again before each page; once it has ended, the body breaks off.

import { lookAgain } from './auth.ts';
import type { Incoming } from './route.ts';

export function stream(
  { services, who }: Pick<Incoming<unknown, unknown>, 'services' | 'who'>,
  texts: AsyncGenerator<string>,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = await texts.next();
      await lookAgain(services, who);
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    async cancel() {
      await texts.return(undefined);
    },
  });
}
