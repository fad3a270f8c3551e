// Whether the mail server can be used: connects, greets, starts TLS where it is offered, and signs in. No message is sent.

import { asMailError, located } from './email.ts';

interface MailServer {
  /** Whether the connection was encrypted when the password was sent. */
  isSecure: boolean;
  hasPassword: boolean;
}

/** Throws a short sentence without secrets if it cannot be used. */
export async function tryMailServer(smtpUrl: string, timeoutMs: number): Promise<MailServer> {
  const [{ default: Connection }, { parseConnectionUrl }] = await Promise.all([
    import('nodemailer/lib/smtp-connection'),
    import('nodemailer/lib/shared'),
  ]);
  const { url, ...server } = await located(smtpUrl);
  const { auth, ...options } = parseConnectionUrl(url);
  const limits = { connectionTimeout: timeoutMs, greetingTimeout: timeoutMs, socketTimeout: timeoutMs };
  const connection = new Connection({ ...options, ...server, ...limits });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // The limits of the library apply to single steps.
  const timer = setTimeout(() => reject({ code: 'ETIMEDOUT' }), timeoutMs);
  connection.on('error', reject);
  connection.connect(error => {
    if (error) reject(error);
    else if (auth === undefined) resolve();
    else connection.login(auth, refused => (refused ? reject(refused) : resolve()));
  });
  try {
    await promise;
    return { isSecure: connection.secure, hasPassword: auth !== undefined };
  } catch (error) {
    throw asMailError(error, timeoutMs);
  } finally {
    clearTimeout(timer);
    const socket = connection._socket;
    connection.close();
    // The library would give the server five more seconds to close its side.
    if (socket) socket.destroy();
  }
}
