/** Numbers of Linux on x64 and arm64 (include/uapi/asm-generic and linux/in.h, in6.h, tcp.h, udp.h, socket.h, eventpoll.h). */
export const AF_INET = 2;
export const AF_INET6 = 10;
export const SOCK_STREAM = 1;
export const SOCK_DGRAM = 2;
export const SOCK_NONBLOCK = 0o4000;
export const SOCK_CLOEXEC = 0o2000000;
export const SOL_SOCKET = 1;
export const SO_REUSEADDR = 2;
export const SO_RCVBUF = 8;
export const SO_LINGER = 13;
export const SO_REUSEPORT = 15;
/** A classic BPF program decides what a socket receives; needs no right. */
export const SO_ATTACH_FILTER = 26;
export const SO_DETACH_FILTER = 27;
/** A classic BPF program chooses among the sockets of a port (SO_REUSEPORT) by their number; needs no right (Linux 4.6). */
export const SO_ATTACH_REUSEPORT_CBPF = 51;
/** Memory of a socket, and what it has dropped: numbers of 32 bits, see SocketMemory (Linux 4.12). */
export const SO_MEMINFO = 55;
export const SO_RCVBUFFORCE = 33;
export const IPPROTO_IP = 0;
export const IP_PKTINFO = 8;
export const IP_MTU_DISCOVER = 10;
/** Datagrams may be sent in fragments, and no ICMP message changes how large these are (Linux 3.15). */
export const IP_PMTUDISC_OMIT = 5;
export const IPPROTO_TCP = 6;
export const TCP_NODELAY = 1;
/** How many bytes the system takes that are not on their way yet (Linux 3.12). */
export const TCP_NOTSENT_LOWAT = 25;
export const IPPROTO_IPV6 = 41;
export const IPV6_MTU_DISCOVER = 23;
/** As for IPv4 (Linux 4.0). */
export const IPV6_PMTUDISC_OMIT = 5;
export const IPV6_V6ONLY = 26;
export const IPV6_RECVPKTINFO = 49;
export const SOL_UDP = 17;
/** The length of each datagram in one message that is sent (Linux 4.18). */
export const UDP_SEGMENT = 103;
/** The same of a message that is received, where datagrams may come merged (Linux 5.0). */
export const UDP_GRO = 104;
export const MSG_TRUNC = 0x20;
export const MSG_DONTWAIT = 0x40;
export const MSG_NOSIGNAL = 0x4000;
export const SHUT_WR = 1;
export const EPOLL_CLOEXEC = SOCK_CLOEXEC;
export const EPOLL_CTL_ADD = 1;
export const EPOLL_CTL_DEL = 2;
export const EPOLL_CTL_MOD = 3;
export const EPOLLIN = 0x1;
export const EPOLLOUT = 0x4;
export const EPOLLERR = 0x8;
export const EPOLLHUP = 0x10;
export const EPOLLRDHUP = 0x2000;
export const EPOLLET = 1 << 31;
export const EINTR = 4;
export const EAGAIN = 11;
export const ENFILE = 23;
export const EMFILE = 24;
export const EMSGSIZE = 90;
export const ENOBUFS = 105;
export const ENETUNREACH = 101;
export const ECONNABORTED = 103;
export const ECONNREFUSED = 111;
export const EHOSTUNREACH = 113;
