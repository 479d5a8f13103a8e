/** Numbers of Linux on x64 and arm64 (include/uapi/asm-generic and linux/in.h, in6.h, udp.h, socket.h). */
export const AF_INET = 2;
export const AF_INET6 = 10;
export const SOCK_DGRAM = 2;
export const SOCK_NONBLOCK = 0o4000;
export const SOCK_CLOEXEC = 0o2000000;
export const SOL_SOCKET = 1;
export const SO_RCVBUF = 8;
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
export const EINTR = 4;
export const EAGAIN = 11;
export const EMSGSIZE = 90;
export const ENOBUFS = 105;
export const ENETUNREACH = 101;
export const ECONNREFUSED = 111;
export const EHOSTUNREACH = 113;
