// SPDX-License-Identifier: (GPL-2.0 OR BSD-3-Clause)
/*
 * Stands instead of the InfiniBand core's file of this name: memory regions over buffers of other devices, which the
 * kernel was configured without. Neither rxe nor siw makes one.
 */
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/types.h>
#include <rdma/ib_umem.h>

void ib_umem_dmabuf_release(struct ib_umem_dmabuf *memory) {}
