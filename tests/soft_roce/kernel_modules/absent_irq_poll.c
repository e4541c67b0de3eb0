// SPDX-License-Identifier: GPL-2.0
/*
 * irq_poll, which the kernel was configured without. The InfiniBand core calls it for completion queues that a driver
 * of the kernel polls in soft interrupts; programs in user space never make one.
 */
#include <linux/bug.h>
#include <linux/irq_poll.h>
#include <linux/kernel.h>
#include <linux/list.h>

void irq_poll_init(struct irq_poll *poll, int weight, irq_poll_fn *function) {}
void irq_poll_enable(struct irq_poll *poll) {}
void irq_poll_disable(struct irq_poll *poll) {}
void irq_poll_complete(struct irq_poll *poll) {}
void irq_poll_sched(struct irq_poll *poll)
{
	WARN_ON_ONCE(1);
}
